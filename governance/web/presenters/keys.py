"""The keys of a workspace, and the form that makes one."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from governance import keys
from governance.errors import GovernanceError
from governance.models import ApiKey, Scope
from governance.web.presenters.forms import Choice, Field
from governance.web.presenters.reading import moment

OVERLAPS = (
    Choice("0", "ends now"),
    Choice("1", "ends in an hour"),
    Choice("24", "ends in a day"),
    Choice("168", "ends in a week"),
)
LIVES = (
    Choice("", "Never"),
    Choice("7", "In 7 days"),
    Choice("30", "In 30 days"),
    Choice("90", "In 90 days"),
    Choice("365", "In a year"),
)


_LIMIT = (
    "Calls a minute",
    "Empty: as many as the server's setting says. 0: any number.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    """One key as the list shows it, without its secret."""

    key_id: str
    prefix: str
    name: str
    owner: str
    agents: tuple[str, ...]
    every_agent: bool
    scopes: str
    limit: str
    """How often it may call, in words."""
    state: str
    """``valid`` | ``ending`` (rotated, in its overlap) | ``expired`` | ``revoked``."""
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    successor: str

    @property
    def may_rotate(self) -> bool:
        return self.state == "valid"

    @property
    def may_revoke(self) -> bool:
        return self.state in {"valid", "ending"}


def listed(workspace_id: str, *, now_ms: int) -> list[KeyRow]:
    """Every key: those that open something first, then newest first; one query."""
    rows = [_row(key, now_ms) for key in keys.of_workspace(workspace_id)]
    return sorted(rows, key=lambda row: not row.may_revoke)


def _row(key: ApiKey, now_ms: int) -> KeyRow:
    return KeyRow(
        key_id=key.pk,
        prefix=str(key),
        name=key.name,
        owner=key.owner.label,
        agents=tuple(key.agents or ()),
        every_agent=key.agents is None,
        scopes=", ".join(key.scopes),
        limit=_limit(key.calls_per_minute),
        state=_state(key, now_ms),
        created_at=moment(key.created_at_ms),
        expires_at=_moment(key.expires_at_ms),
        revoked_at=_moment(key.revoked_at_ms),
        last_used_at=_moment(key.last_used_at_ms),
        successor=str(key.successor) if key.successor else "",
    )


def _state(key: ApiKey, now_ms: int) -> str:
    if key.revoked_at_ms is not None:
        return "revoked"
    if not key.is_valid(now_ms=now_ms):
        return "expired"
    return "valid" if key.successor_id is None else "ending"


def _moment(at_ms: int | None) -> datetime | None:
    return None if at_ms is None else moment(at_ms)


def _limit(own: int | None) -> str:
    calls = settings.ENVIRONMENT.calls_per_minute if own is None else own
    if not calls:
        return "any number of calls"
    return "1 call a minute" if calls == 1 else f"{calls:,} calls a minute"


def limit_field(key: ApiKey, typed: str | None, refusal: GovernanceError | None) -> Field:
    """The one field of the form that says how often a key may call."""
    own = "" if key.calls_per_minute is None else str(key.calls_per_minute)
    label, hint = _LIMIT
    return Field(
        name="calls_per_minute",
        label=label,
        hint=hint,
        value=own if typed is None else typed,
        problem=refusal.detail if refusal else "",
    )


def fields(
    workspace_id: str, values: Mapping[str, str], refusal: GovernanceError | None
) -> dict[str, Field]:
    """The form, filled, each field with what is wrong with it; one query, for the owners."""
    problems = {each.field: each.message for each in refusal.errors} if refusal else {}
    owners = [
        Choice(str(each.pk), _owner(each.label, each.is_service))
        for each in keys.owners(workspace_id)
    ]
    said = {
        "owner": ("Owner", "Answers for the key, and so can never approve what it proposes."),
        "name": ("Note", "What it is for. People see it, agents do not."),
        "agents": ("Only these agents", "One id a line."),
        "expires": ("Stops working", ""),
        "calls_per_minute": _LIMIT,
    }
    kinds = {"owner": tuple(owners), "expires": LIVES}
    return {
        name: Field(
            name=name,
            label=label,
            hint=hint,
            value=values.get(name, ""),
            problem=problems.get(name, ""),
            choices=kinds.get(name, ()),
            kind="lines" if name == "agents" else "text",
        )
        for name, (label, hint) in said.items()
    }


def scopes(chosen: list[str]) -> list[tuple[str, bool]]:
    """Every scope, and whether it is ticked."""
    return [(scope.value, scope.value in chosen) for scope in Scope]


def _owner(label: str, is_service: bool) -> str:
    return f"{label} (service account)" if is_service else label
