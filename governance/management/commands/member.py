"""``manage.py member add|list|remove``: people and their roles."""

import getpass
import secrets
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email

from governance import audit, execution
from governance.clock import now_ms
from governance.management.commands.apikey import find_workspace
from governance.models import Membership, Role, User, Workspace


class Command(BaseCommand):
    help = "Add people to a workspace, list them, take them out."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", help="slug; may be left out while there is only one")
        actions = parser.add_subparsers(dest="action", required=True)
        add = actions.add_parser("add", help="add a person, or change their roles")
        add.add_argument("email")
        add.add_argument(
            "--roles", default=Role.REVIEWER, help=f"with commas: {','.join(Role.values)}"
        )
        add.add_argument("--name", default="")
        add.add_argument(
            "--ask-password", action="store_true", help="type it; default: a random one"
        )
        actions.add_parser("list", help="all members and their roles")
        remove = actions.add_parser("remove", help="take a person out of the workspace")
        remove.add_argument("email")

    def handle(self, *, action: str, **options: Any) -> None:
        workspace = find_workspace(options["workspace"])
        handler = {"add": self._add, "list": self._list, "remove": self._remove}[action]
        handler(workspace, options)

    def _add(self, workspace: Workspace, options: dict[str, Any]) -> None:
        email, roles = options["email"], [item.strip() for item in options["roles"].split(",")]
        try:
            validate_email(email)
        except ValidationError as error:
            raise CommandError(f"{email} is not an e-mail address.") from error
        if unknown := [role for role in roles if role not in Role.values]:
            raise CommandError(f"Unknown role {unknown}. Known: {', '.join(Role.values)}.")
        password = getpass.getpass() if options["ask_password"] else secrets.token_urlsafe(12)

        def add() -> bool:
            user = User.objects.filter(email__iexact=email).first()
            is_new = user is None
            if user is None:
                user = User.objects.create_user(email, password, name=options["name"])
            Membership.objects.update_or_create(
                workspace=workspace, user=user, defaults={"roles": roles}
            )
            _audit(workspace, user, "member.added", {"roles": roles})
            return is_new

        is_new = execution.write_sync(add)
        self.stdout.write(f"{email} is a member of {workspace.slug} as {', '.join(roles)}.")
        if is_new and not options["ask_password"]:
            self.stdout.write(f"Password, shown this once: {password}")

    def _list(self, workspace: Workspace, options: dict[str, Any]) -> None:
        members = Membership.objects.filter(workspace=workspace).select_related("user")
        for membership in members.order_by("user__email"):
            kind = "service account" if membership.user.is_service else ", ".join(membership.roles)
            self.stdout.write(f"{membership.user.email}  {membership.user.name}  {kind}")

    def _remove(self, workspace: Workspace, options: dict[str, Any]) -> None:
        def remove() -> bool:
            found = (
                Membership.objects.filter(workspace=workspace, user__email__iexact=options["email"])
                .select_related("user")
                .first()
            )
            if found is None:
                return False
            _audit(workspace, found.user, "member.removed", {})
            found.delete()
            return True

        if not execution.write_sync(remove):
            raise CommandError(f"{options['email']} is not a member of {workspace.slug}.")
        self.stdout.write(f"{options['email']} is no longer a member of {workspace.slug}.")


def _audit(workspace: Workspace, user: User, action: str, facts: dict[str, Any]) -> None:
    entry = audit.Entry(
        action=action,
        actor=audit.Actor.system("command-line"),
        facts={"member": user.email, **facts},
    )
    audit.append(workspace.pk, [entry], now_ms=now_ms())
