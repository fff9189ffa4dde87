"""``manage.py apikey create|list|rotate|limit|revoke``: keys for agents, as on the page /keys."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.core.management.base import BaseCommand, CommandError, CommandParser

from governance import access, audit, execution, keys
from governance.clock import now_ms
from governance.errors import Conflict, Invalid
from governance.models import ApiKey, Scope, User, Workspace

T = TypeVar("T")

_LIMIT_HELP = "left out: as many as MEMORYWIRE_CALLS_PER_MINUTE says; 0: any number"
_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS


class Command(BaseCommand):
    help = "Create, list, rotate, limit and revoke the API keys of a workspace."

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
        create.add_argument("--calls-per-minute", type=int, help=_LIMIT_HELP)
        create.add_argument("--expires-days", type=int, help="days until it stops working")
        actions.add_parser("list", help="all keys, without their secrets")
        rotate = actions.add_parser("rotate", help="a new key with the same rights, shown once")
        rotate.add_argument("prefix", help="as listed: mw_1a2b3c...")
        rotate.add_argument(
            "--overlap-hours", type=int, default=24, help="how long the old one stays good"
        )
        limit = actions.add_parser("limit", help="say how often a key may call")
        limit.add_argument("prefix", help="as listed: mw_1a2b3c...")
        limit.add_argument("--calls-per-minute", type=int, help=_LIMIT_HELP)
        revoke = actions.add_parser("revoke", help="stop a key at once")
        revoke.add_argument("prefix", help="as listed: mw_1a2b3c...")

    def handle(self, *, action: str, **options: Any) -> None:
        workspace = find_workspace(options["workspace"])
        handlers = {
            "create": self._create,
            "list": self._list,
            "rotate": self._rotate,
            "limit": self._limit,
            "revoke": self._revoke,
        }
        handlers[action](workspace, options)

    def _create(self, workspace: Workspace, options: dict[str, Any]) -> None:
        agents = None if options["agents"] == "all" else _split(options["agents"])
        rights = keys.Rights(
            scopes=_parse_scopes(options["scopes"]),
            agents=agents,
            calls_per_minute=options["calls_per_minute"],
        )
        days, cause = options["expires_days"], _cause()

        def create() -> tuple[ApiKey, str]:
            return keys.create(
                workspace.pk,
                _find_owner(workspace, options["owner"]),
                rights,
                cause=cause,
                name=options["name"],
                expires_at_ms=None if days is None else cause.now_ms + days * _DAY_MS,
            )

        self._show_once(*_written(create))

    def _rotate(self, workspace: Workspace, options: dict[str, Any]) -> None:
        key = _find_key(workspace, options["prefix"])
        overlap_ms = options["overlap_hours"] * _HOUR_MS
        if overlap_ms < 0:
            raise CommandError("--overlap-hours must not be negative")

        def rotate() -> tuple[ApiKey, str]:
            return keys.rotate(workspace.pk, key.pk, overlap_ms=overlap_ms, cause=_cause())

        self._show_once(*_written(rotate))

    def _list(self, workspace: Workspace, options: dict[str, Any]) -> None:
        for key in keys.of_workspace(workspace.pk):
            agents = "all agents" if key.agents is None else ",".join(key.agents)
            self.stdout.write(
                f"{key}  {_state(key)}  owner {key.owner}  {agents}  "
                f"{','.join(key.scopes)}  {key.name}"
            )

    def _limit(self, workspace: Workspace, options: dict[str, Any]) -> None:
        key = _find_key(workspace, options["prefix"])
        calls = options["calls_per_minute"]

        def limit() -> ApiKey:
            return keys.limit(workspace.pk, key.pk, calls_per_minute=calls, cause=_cause())

        _written(limit)
        said = "as the setting says" if calls is None else calls or "any number"
        self.stdout.write(f"{key}: calls a minute: {said}.")

    def _revoke(self, workspace: Workspace, options: dict[str, Any]) -> None:
        key = _find_key(workspace, options["prefix"])
        execution.write_sync(keys.revoke, workspace.pk, key.pk, cause=_cause())
        self.stdout.write(f"{key} is revoked.")

    def _show_once(self, key: ApiKey, token: str) -> None:
        self.stderr.write(
            f"Owner: {key.owner}. The key is shown this once; only its digest is kept."
        )
        self.stdout.write(token)


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
    owners = keys.owners(workspace.pk)
    if name is None:
        owner = next((each for each in owners if each.is_service), None)
        if owner is None:
            raise CommandError("This workspace has no service account yet: name one with --owner.")
        return owner
    wanted = name.casefold()
    by_address = [each for each in owners if each.email.casefold() == wanted]
    by_name = [each for each in owners if each.name.casefold() == wanted]
    if not by_address and not by_name and "@" in name:
        raise CommandError(f"No member of {workspace.slug} has the address {name}.")
    return next(iter([*by_address, *by_name]), None) or access.create_service_account(
        workspace, name
    )


def _find_key(workspace: Workspace, text: str) -> ApiKey:
    prefix = text.removeprefix("mw_").partition("_")[0]
    key = ApiKey.objects.filter(workspace=workspace, prefix=prefix).first()
    if key is None:
        raise CommandError(f"No key mw_{prefix} in {workspace.slug}; 'apikey list' shows them.")
    return key


def _written(make: Callable[[], T]) -> T:
    try:
        return execution.write_sync(make)
    except (Invalid, Conflict) as error:
        raise CommandError(error.detail) from error


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
    if key.is_valid(now_ms=now_ms()):
        return "valid"
    return "expired" if key.revoked_at_ms is None else "revoked"


def _cause() -> audit.Cause:
    return audit.Cause(actor=audit.Actor.system("command-line"), now_ms=now_ms())
