"""``manage.py apikey create|list|revoke``: keys for agents."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from governance import access, audit, execution
from governance.clock import now_ms
from governance.models import ApiKey, Scope, User, Workspace

_DAY_MS = 86_400_000


class Command(BaseCommand):
    help = "Create, list and revoke the API keys of a workspace."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", help="slug; may be left out while there is only one")
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="make a key and show it once")
        create.add_argument("--agents", required=True, help="'all', or agent ids with commas")
        create.add_argument(
            "--scopes", required=True, help=f"with commas: {','.join(Scope.values)}, or 'all'"
        )
        create.add_argument(
            "--owner",
            help="who answers for it and so cannot approve what it proposes: a person's e-mail,"
            " or a service account's name (made if new). Default: the first service account",
        )
        create.add_argument("--name", default="", help="a note for people")
        create.add_argument("--expires-days", type=int, help="days until it stops working")
        actions.add_parser("list", help="all keys, without their secrets")
        revoke = actions.add_parser("revoke", help="stop a key at once")
        revoke.add_argument("prefix", help="as listed: mw_1a2b3c...")

    def handle(self, *, action: str, **options: Any) -> None:
        workspace = find_workspace(options["workspace"])
        handler = {"create": self._create, "list": self._list, "revoke": self._revoke}[action]
        handler(workspace, options)

    def _create(self, workspace: Workspace, options: dict[str, Any]) -> None:
        scopes = _parse_scopes(options["scopes"])
        agents = None if options["agents"] == "all" else _split(options["agents"])
        if agents is not None and not agents:
            raise CommandError("--agents needs 'all' or at least one agent id")
        days = options["expires_days"]
        if days is not None and days < 1:
            raise CommandError("--expires-days must be at least 1")
        now = now_ms()

        def create() -> tuple[ApiKey, str]:
            owner = _find_owner(workspace, options["owner"])
            key, token = access.create_key(
                workspace,
                owner,
                scopes=scopes,
                agents=agents,
                now_ms=now,
                name=options["name"],
                expires_at_ms=None if days is None else now + days * _DAY_MS,
            )
            _audit(workspace, key, "apikey.created", now=now)
            return key, token

        key, token = execution.write_sync(create)
        self.stderr.write(
            f"Owner: {key.owner}. The key is shown this once; only its digest is kept."
        )
        self.stdout.write(token)

    def _list(self, workspace: Workspace, options: dict[str, Any]) -> None:
        for key in (
            ApiKey.objects.filter(workspace=workspace).select_related("owner").order_by("pk")
        ):
            agents = "all agents" if key.agents is None else ",".join(key.agents)
            self.stdout.write(
                f"{key}  {_state(key)}  owner {key.owner}  {agents}  "
                f"{','.join(key.scopes)}  {key.name}"
            )

    def _revoke(self, workspace: Workspace, options: dict[str, Any]) -> None:
        prefix = options["prefix"].removeprefix("mw_").partition("_")[0]
        now = now_ms()

        def revoke() -> ApiKey | None:
            key = ApiKey.objects.filter(workspace=workspace, prefix=prefix).first()
            if key is not None and key.revoked_at_ms is None:
                key.revoked_at_ms = now
                key.save(update_fields=["revoked_at_ms"])
                _audit(workspace, key, "apikey.revoked", now=now)
            return key

        key = execution.write_sync(revoke)
        if key is None:
            raise CommandError(f"No key mw_{prefix} in {workspace.slug}; 'apikey list' shows them.")
        self.stdout.write(f"{key} is revoked.")


def find_workspace(slug: str | None) -> Workspace:
    """The workspace a command means.

    Raises: CommandError if it is unknown, or left out where there are several.
    """
    found = Workspace.objects.filter(slug=slug) if slug else Workspace.objects.all()[:2]
    if len(found) == 1:
        return found[0]
    known = ", ".join(Workspace.objects.values_list("slug", flat=True)) or "none yet: run 'setup'"
    raise CommandError(f"Say which workspace with --workspace. There are: {known}.")


def _find_owner(workspace: Workspace, name: str | None) -> User:
    if name is None:
        owner = (
            User.objects.filter(is_service=True, membership__workspace=workspace)
            .order_by("pk")
            .first()
        )
        if owner is None:
            raise CommandError("This workspace has no service account yet: name one with --owner.")
        return owner
    by_name = User.objects.filter(name__iexact=name)
    owner = User.objects.filter(email__iexact=name).first() or by_name.first()
    if owner is None and "@" in name:
        raise CommandError(f"Nobody has the address {name}.")
    return owner or access.create_service_account(workspace, name)


def _parse_scopes(text: str) -> list[Scope]:
    if text == "all":
        return list(Scope)
    unknown = [item for item in _split(text) if item not in Scope.values]
    if unknown or not _split(text):
        raise CommandError(f"Unknown scope {unknown}. Known: {', '.join(Scope.values)}, or 'all'.")
    return [Scope(item) for item in _split(text)]


def _split(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _state(key: ApiKey) -> str:
    if key.revoked_at_ms is not None:
        return "revoked"
    if key.expires_at_ms is not None and key.expires_at_ms <= now_ms():
        return "expired"
    return "valid"


def _audit(workspace: Workspace, key: ApiKey, action: str, *, now: int) -> None:
    facts = {"key": str(key), "owner": key.owner.label, "agents": key.agents, "scopes": key.scopes}
    entry = audit.Entry(action=action, actor=audit.Actor.system("command-line"), facts=facts)
    audit.append(workspace.pk, [entry], now_ms=now)
