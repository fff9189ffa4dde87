"""``manage.py member …``: people, their roles, and the way back in for who is locked out."""

import getpass
import secrets
from collections.abc import Callable
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email

from governance import accounts, audit, execution, members
from governance.clock import now_ms
from governance.errors import GovernanceError
from governance.management.commands.apikey import find_workspace
from governance.models import Membership, Role, User, Workspace

T = TypeVar("T")


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
        add.add_argument(
            "--agents", default="", help="keep a reviewer to these, with commas; default: all"
        )
        add.add_argument("--name", default="")
        add.add_argument(
            "--ask-password", action="store_true", help="type it; default: a random one"
        )
        actions.add_parser("list", help="all members and their roles")
        link = actions.add_parser("reset-link", help="a link to choose a new password, to pass on")
        link.add_argument("email")
        off = actions.add_parser("drop-second-factor", help="for who lost app and codes")
        off.add_argument("email")
        remove = actions.add_parser("remove", help="take a person out of the workspace")
        remove.add_argument("email")

    def handle(self, *, action: str, **options: Any) -> None:
        workspace = find_workspace(options["workspace"])
        handlers = {
            "add": self._add,
            "list": self._list,
            "remove": self._remove,
            "reset-link": self._reset_link,
            "drop-second-factor": self._drop_second_factor,
        }
        handlers[action](workspace, options)

    def _add(self, workspace: Workspace, options: dict[str, Any]) -> None:
        email, roles = options["email"], [item.strip() for item in options["roles"].split(",")]
        agents = options["agents"]
        part = members.Part(roles=roles, agents=agents.split(",") if agents else None)
        try:
            validate_email(email)
        except ValidationError as error:
            raise CommandError(f"{email} is not an e-mail address.") from error
        password = getpass.getpass() if options["ask_password"] else secrets.token_urlsafe(12)

        def add() -> bool:
            user = User.objects.filter(email__iexact=email).first()
            is_new = user is None
            if user is None:
                user = User.objects.create_user(email, password, name=options["name"])
            if Membership.objects.filter(workspace=workspace, user=user).exists():
                members.change(workspace.pk, user.pk, part, cause=_cause())
            else:
                members.add(workspace.pk, user, part, cause=_cause())
            return is_new

        is_new = _written(add)
        self.stdout.write(f"{email} is a member of {workspace.slug} as {', '.join(roles)}.")
        if is_new and not options["ask_password"]:
            self.stdout.write(f"Password, shown this once: {password}")

    def _list(self, workspace: Workspace, options: dict[str, Any]) -> None:
        found = Membership.objects.filter(workspace=workspace).select_related("user")
        for membership in found.order_by("user__email"):
            kind = "service account" if membership.user.is_service else ", ".join(membership.roles)
            self.stdout.write(f"{membership.user.email}  {membership.user.name}  {kind}")

    def _reset_link(self, workspace: Workspace, options: dict[str, Any]) -> None:
        user = _find_person(workspace, options["email"])
        _written(lambda: _note(workspace, user, "account.reset_link_made"))
        self.stderr.write("Whoever opens it chooses the password: pass it on to nobody else.")
        self.stdout.write(accounts.reset_link(user))

    def _drop_second_factor(self, workspace: Workspace, options: dict[str, Any]) -> None:
        user = _find_person(workspace, options["email"])

        def drop() -> None:
            accounts.drop_second_factor(user)
            _note(workspace, user, "account.second_factor_removed")

        _written(drop)
        self.stdout.write(f"{user.email} now logs in by password alone.")

    def _remove(self, workspace: Workspace, options: dict[str, Any]) -> None:
        email = options["email"]
        user = User.objects.filter(email__iexact=email).first()

        def remove() -> None:
            members.remove(workspace.pk, user.pk if user else 0, cause=_cause())

        _written(remove)
        self.stdout.write(f"{email} is no longer a member of {workspace.slug}.")


def _find_person(workspace: Workspace, email: str) -> User:
    found = User.objects.filter(
        email__iexact=email, membership__workspace=workspace, is_service=False
    ).first()
    if found is None:
        raise CommandError(f"{email} is no member of {workspace.slug}; 'member list' shows them.")
    return found


def _note(workspace: Workspace, user: User, action: str) -> None:
    members.note_account(workspace.pk, user, action, cause=_cause())


def _written(change: Callable[[], T]) -> T:
    try:
        return execution.write_sync(change)
    except GovernanceError as error:
        raise CommandError(error.detail) from error


def _cause() -> audit.Cause:
    return audit.Cause(actor=audit.Actor.system("command-line"), now_ms=now_ms())
