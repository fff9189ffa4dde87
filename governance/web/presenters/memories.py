"""Memories as people browse them, and one memory with how it came to be what it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from governance import audit, memory_search
from governance.diff import Kind, diff_fields
from governance.memory_search import STATES, Place, Search
from governance.models import (
    AuditRow,
    Decision,
    Delivery,
    Memory,
    MemoryVersion,
    Recalled,
    Verdict,
)
from governance.screening import codepoints
from governance.web import cursors, page
from governance.web.presenters import audit as present_audit
from governance.web.presenters.forms import Choice, Field
from governance.web.presenters.proposal import VERBS, field_row
from governance.web.presenters.reading import moment
from stores.wire import MemoryType

_PER_PAGE = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRow:
    """One memory in the list. ``content`` is empty once it was erased."""

    memory_id: str
    content: str
    type: str
    state: str
    agent_id: str
    user_id: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryList:
    """A page of memories, newest first, and signed cursors to the pages on either side."""

    rows: tuple[MemoryRow, ...]
    newer: str
    older: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Who made a version, and why: what its audit row and the decision say."""

    what: str
    actor: str
    actor_key: str
    sequence: int
    review_id: str
    decision: page.Verdict | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version against the one before it; ``before`` None: the first that is kept."""

    number: int
    since: datetime
    content: str
    before: str | None
    changes: tuple[page.FieldRow, ...]
    event: Event | None

    @property
    def is_new_text(self) -> bool:
        return self.before is not None and self.before != self.content


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreState:
    """What one store holds of the memory."""

    name: str
    is_in_step: bool
    behind: int
    holds_it: bool
    at: datetime | None
    last_error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPage:
    """Everything a memory's own page says."""

    row: MemoryRow
    subject: str
    """Entity and attribute, as the agent names them; often empty."""
    hidden: int
    confidence: float
    source: str
    expires_at: datetime | None
    successor_id: str
    metadata: tuple[page.FieldRow, ...]
    versions: tuple[Version, ...]
    stores: tuple[StoreState, ...]
    recalled: int
    recalled_at: datetime | None


def listed(
    workspace_id: str, search: Search, *, older_than: str, newer_than: str, now_ms: int
) -> MemoryList:
    """One page; one query.

    Raises: BadRequest if the cursor is not one this workspace was given.
    """
    if newer_than:
        place = _place(workspace_id, newer_than)
        found = memory_search.newer(workspace_id, search, place, limit=_PER_PAGE + 1, now_ms=now_ms)
        rows = found[-_PER_PAGE:]
        has_newer, has_older = len(found) > len(rows), True
    else:
        start = _place(workspace_id, older_than) if older_than else None
        found = memory_search.older(workspace_id, search, start, limit=_PER_PAGE + 1, now_ms=now_ms)
        rows = found[:_PER_PAGE]
        has_newer, has_older = start is not None, len(found) > len(rows)
    return MemoryList(
        rows=tuple(_row(memory, now_ms) for memory in rows),
        newer=_cursor(rows[0]) if rows and has_newer else "",
        older=_cursor(rows[-1]) if rows and has_older else "",
    )


def fields(values: Mapping[str, str]) -> tuple[Field, ...]:
    """The search as a form, filled."""
    types = (Choice("", "Any type"), *(Choice(kind.value, kind.value) for kind in MemoryType))
    states = (Choice("", "Any state"), *(Choice(state, state) for state in STATES))
    labels = {"words": "Words", "agent": "Agent", "user": "User", "type": "Type", "state": "State"}
    choices = {"type": types, "state": states}
    return tuple(
        Field(name=name, label=label, value=values.get(name, ""), choices=choices.get(name, ()))
        for name, label in labels.items()
    )


def memory_page(memory: Memory, *, now_ms: int) -> MemoryPage:
    """A memory's own page; five queries however long its history is."""
    rows = {row.memory_version: row for row in audit.of_memory(memory.workspace_id, memory.pk)}
    decided = _decisions({row.review_id for row in rows.values() if row.review_id})
    recalled = Recalled.objects.filter(memory=memory).first()
    return MemoryPage(
        row=_row(memory, now_ms),
        subject=_subject(memory),
        hidden=codepoints.count(memory.content),
        confidence=memory.confidence,
        source=memory.source or "",
        expires_at=_moment(memory.expires_at),
        successor_id=memory.successor_id or "",
        metadata=tuple(map(field_row, diff_fields({}, memory.metadata))),
        versions=_versions(memory_search.history(memory), rows, decided),
        stores=tuple(map(_store, Delivery.objects.filter(memory=memory).order_by("store"))),
        recalled=recalled.times if recalled else 0,
        recalled_at=moment(recalled.last_at_ms) if recalled else None,
    )


def _row(memory: Memory, now_ms: int) -> MemoryRow:
    return MemoryRow(
        memory_id=memory.pk,
        content=memory.content,
        type=memory.type,
        state=memory_search.state_of(memory, now_ms=now_ms),
        agent_id=memory.agent_id,
        user_id=memory.user_id or "",
        created_at=moment(memory.created_at),
    )


def _cursor(memory: Memory) -> str:
    return cursors.sign_place(memory.workspace_id, memory.created_at, memory.pk)


def _place(workspace_id: str, cursor: str) -> Place:
    created_at, memory_id = cursors.read_place(workspace_id, cursor)
    return Place(created_at=created_at, memory_id=memory_id)


def _subject(memory: Memory) -> str:
    parts = (memory.metadata.get("entity"), memory.metadata.get("attribute"))
    return ", ".join(part for part in parts if isinstance(part, str) and part)


def _versions(
    kept: Sequence[MemoryVersion],
    rows: Mapping[int | None, AuditRow],
    decided: Mapping[str, page.Verdict],
) -> tuple[Version, ...]:
    """Newest first."""
    pairs = list(pairwise([None, *kept]))
    return tuple(
        _version(before, after, rows, decided) for before, after in reversed(pairs) if after
    )


def _version(
    before: MemoryVersion | None,
    after: MemoryVersion,
    rows: Mapping[int | None, AuditRow],
    decided: Mapping[str, page.Verdict],
) -> Version:
    row = rows.get(after.number)
    changes = diff_fields(_said(before) if before else {}, _said(after))
    return Version(
        number=after.number,
        since=moment(after.valid_from_ms),
        content=after.content,
        before=before.content if before else None,
        changes=tuple(field_row(each) for each in changes if each.kind is not Kind.SAME),
        event=_event(row, decided) if row else None,
    )


def _said(version: MemoryVersion) -> dict[str, Any]:
    """What a version says beside its text, left out where nothing is said."""
    said = {
        "type": version.type,
        "confidence": version.confidence,
        "source": version.source,
        "expires": version.expires_at,
        "metadata": version.metadata or None,
    }
    return {name: value for name, value in said.items() if value is not None}


def _event(row: AuditRow, decided: Mapping[str, page.Verdict]) -> Event:
    is_decision = row.action in {"memory.approved", "memory.rejected"}
    return Event(
        what=present_audit.event(row.action),
        actor=row.actor_label,
        actor_key=f"{row.actor_kind}:{row.actor_id}",
        sequence=row.sequence,
        review_id=row.review_id,
        decision=decided.get(row.review_id) if is_decision else None,
    )


def _decisions(review_ids: set[str]) -> dict[str, page.Verdict]:
    """The last decision about each review; one query."""
    found = Decision.objects.filter(review__in=review_ids).select_related("person").order_by("pk")
    return {
        decision.review_id: page.Verdict(
            person=decision.person.label,
            verb=VERBS[Verdict(decision.verdict).value],
            at=moment(decision.decided_at_ms),
            reason=decision.reason,
        )
        for decision in found
    }


def _store(delivery: Delivery) -> StoreState:
    behind = delivery.wanted_version - delivery.delivered_version
    return StoreState(
        name=delivery.store,
        is_in_step=behind <= 0,
        behind=behind,
        holds_it=delivery.delivered_version > 0,
        at=_moment(delivery.delivered_at_ms),
        last_error=delivery.last_error,
    )


def _moment(at_ms: int | None) -> datetime | None:
    return None if at_ms is None else moment(at_ms)
