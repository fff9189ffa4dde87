"""The API keys of a workspace: the only mutator of them, inside the caller's transaction.

The command ``apikey`` and the page /keys both come here. A key's text is returned once, by
whoever makes it, and kept nowhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from governance import access, audit, walls
from governance.audit import Cause
from governance.errors import Conflict, FieldError, Invalid, NotFound
from governance.models import ApiKey, Scope, User
from stores.wire import limits

NAME_MAX = 150
CALLS_MAX = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """What a key is good for, and how often. ``agents`` None: every agent of the workspace."""

    scopes: Sequence[Scope]
    agents: Sequence[str] | None
    calls_per_minute: int | None = None
    """None: as often as the setting says. 0: as often as it likes."""


def of_workspace(workspace_id: str) -> list[ApiKey]:
    """Every key, newest first, with its owner; one query."""
    keys = ApiKey.objects.filter(workspace_id=workspace_id)
    return list(keys.select_related("owner", "successor").order_by("-created_at_ms", "-pk"))


def valid(workspace_id: str, *, now_ms: int) -> list[ApiKey]:
    """Every key that opens something now; one query."""
    unrevoked = ApiKey.objects.filter(workspace_id=workspace_id, revoked_at_ms__isnull=True)
    return [key for key in unrevoked if key.is_valid(now_ms=now_ms)]


def of_id(workspace_id: str, key_id: str) -> ApiKey:
    """One key.

    Raises: NotFound, whether it is missing or another's.
    """
    key = ApiKey.objects.filter(workspace_id=workspace_id, pk=key_id).first()
    if key is None:
        raise NotFound("There is no such key.")
    return key


def owners(workspace_id: str) -> list[User]:
    """Who may own a key: the members of the workspace, service accounts first."""
    members = User.objects.filter(membership__workspace_id=workspace_id, is_active=True)
    return list(members.order_by("-is_service", "name", "email"))


def create(
    workspace_id: str,
    owner: User,
    rights: Rights,
    *,
    cause: Cause,
    name: str = "",
    expires_at_ms: int | None = None,
) -> tuple[ApiKey, str]:
    """A new key, and its text.

    Raises: Invalid (no scope, no agent, an owner who is no member, an end that is past).
    """
    walls.enter(workspace_id)
    _check(workspace_id, owner, rights, name, expires_at_ms, cause.now_ms)
    key, token = _make(workspace_id, owner, rights, name, expires_at_ms, cause)
    audit.note(workspace_id, "apikey.created", _facts(key), cause=cause)
    return key, token


def rotate(workspace_id: str, key_id: str, *, overlap_ms: int, cause: Cause) -> tuple[ApiKey, str]:
    """A new key with the same rights, and its text; the old one is good for ``overlap_ms`` more.

    One that was to end lives as long from now as the old one did from its making.
    Raises: NotFound, Conflict (revoked, expired or rotated before).
    """
    walls.enter(workspace_id)
    old = _locked(workspace_id, key_id)
    if not old.is_valid(now_ms=cause.now_ms) or old.successor_id is not None:
        raise Conflict("Only a valid key that was not rotated before can be.", code="key_ended")
    life_ms = None if old.expires_at_ms is None else old.expires_at_ms - old.created_at_ms
    new, token = _make(
        workspace_id,
        old.owner,
        Rights(
            scopes=[Scope(scope) for scope in old.scopes],
            agents=old.agents,
            calls_per_minute=old.calls_per_minute,
        ),
        old.name,
        None if life_ms is None else cause.now_ms + life_ms,
        cause,
    )
    ends_at_ms = cause.now_ms + overlap_ms
    old.expires_at_ms = min(ends_at_ms, old.expires_at_ms or ends_at_ms)
    old.successor = new
    old.save(update_fields=["expires_at_ms", "successor"])
    facts = {**_facts(new), "old": str(old), "old_ends_at_ms": old.expires_at_ms}
    audit.note(workspace_id, "apikey.rotated", facts, cause=cause)
    return new, token


def revoke(workspace_id: str, key_id: str, *, cause: Cause) -> ApiKey:
    """Stop a key at once. One that is revoked stays as it is.

    Raises: NotFound.
    """
    walls.enter(workspace_id)
    key = _locked(workspace_id, key_id)
    if key.revoked_at_ms is None:
        key.revoked_at_ms = cause.now_ms
        key.save(update_fields=["revoked_at_ms"])
        audit.note(workspace_id, "apikey.revoked", _facts(key), cause=cause)
    return key


def revoke_all_of(workspace_id: str, owner_id: int, *, cause: Cause) -> None:
    """Stop every key that one person or service account answers for."""
    mine = ApiKey.objects.filter(workspace_id=workspace_id, owner_id=owner_id)
    for key in mine.filter(revoked_at_ms__isnull=True):
        revoke(workspace_id, key.pk, cause=cause)


def limit(workspace_id: str, key_id: str, *, calls_per_minute: int | None, cause: Cause) -> ApiKey:
    """Say how often a key may call: from the next call on.

    Raises: NotFound, Invalid.
    """
    walls.enter(workspace_id)
    _refuse({"calls_per_minute": _limit_problem(calls_per_minute)})
    key = _locked(workspace_id, key_id)
    if key.calls_per_minute != calls_per_minute:
        key.calls_per_minute = calls_per_minute
        key.save(update_fields=["calls_per_minute"])
        audit.note(workspace_id, "apikey.limited", _facts(key), cause=cause)
    return key


def _locked(workspace_id: str, key_id: str) -> ApiKey:
    # Locks the row, so that a key is not rotated twice.
    keys = ApiKey.objects.select_for_update(of=("self",)).select_related("owner")
    key = keys.filter(workspace_id=workspace_id, pk=key_id).first()
    if key is None:
        raise NotFound("There is no such key.")
    return key


def _make(
    workspace_id: str,
    owner: User,
    rights: Rights,
    name: str,
    expires_at_ms: int | None,
    cause: Cause,
) -> tuple[ApiKey, str]:
    return access.create_key(
        workspace_id,
        owner,
        scopes=rights.scopes,
        agents=rights.agents,
        now_ms=cause.now_ms,
        name=name,
        expires_at_ms=expires_at_ms,
        calls_per_minute=rights.calls_per_minute,
    )


def _check(
    workspace_id: str,
    owner: User,
    rights: Rights,
    name: str,
    expires_at_ms: int | None,
    now_ms: int,
) -> None:
    agents = rights.agents
    problems = {
        "scopes": "" if rights.scopes else "A key needs at least one scope.",
        "agents": ""
        if agents is None or (agents and max(map(len, agents)) <= limits.AGENT_ID_MAX)
        else f"Name at least one agent, each of up to {limits.AGENT_ID_MAX} characters, or all.",
        "calls_per_minute": _limit_problem(rights.calls_per_minute),
        "name": "" if len(name) <= NAME_MAX else f"A note has up to {NAME_MAX} characters.",
        "expires": "" if expires_at_ms is None or expires_at_ms > now_ms else "This is past.",
        "owner": ""
        if _is_member(workspace_id, owner)
        else "The owner is a member of the workspace.",
    }
    _refuse(problems)


def _limit_problem(calls_per_minute: int | None) -> str:
    if calls_per_minute is None or 0 <= calls_per_minute <= CALLS_MAX:
        return ""
    return f"A key may make 0 (any number) to {CALLS_MAX:,} calls a minute."


def _refuse(problems: Mapping[str, str]) -> None:
    errors = tuple(
        FieldError(field=field, code="key_invalid", message=message)
        for field, message in problems.items()
        if message
    )
    if errors:
        raise Invalid(" ".join(error.message for error in errors), errors=errors)


def _is_member(workspace_id: str, owner: User) -> bool:
    return User.objects.filter(pk=owner.pk, membership__workspace_id=workspace_id).exists()


def _facts(key: ApiKey) -> dict[str, Any]:
    return {
        "key": str(key),
        "owner": key.owner.label,
        "agents": key.agents,
        "scopes": key.scopes,
        "calls_per_minute": key.calls_per_minute,
        "expires_at_ms": key.expires_at_ms,
    }
