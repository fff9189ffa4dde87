"""Adding to the log, inside the transaction of the change it records."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from django.db import connection, transaction

from governance import live
from governance.audit.digest import row_mac, state_digest
from governance.models import AuditHead, AuditRow, Memory, User
from governance.models.insert import insert
from governance.sealing import DataKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who did it, as known from the credential or the session, never from the request's body."""

    kind: str
    """``key`` | ``person`` | ``system``."""
    id: str
    label: str

    @classmethod
    def person(cls, user: User) -> Self:
        return cls(kind="person", id=str(user.pk), label=user.label)

    @classmethod
    def system(cls, name: str) -> Self:
        return cls(kind="system", id=name, label=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Who changes something that is no memory, when, and under which request."""

    actor: Actor
    now_ms: int
    request_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row to be. ``memory`` is the memory after the change, with the key to seal under."""

    action: str
    actor: Actor
    request_id: str = ""
    agent_id: str = ""
    operation_id: str = ""
    review_id: str = ""
    memory: Memory | None = None
    key: DataKey | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    words: dict[str, Any] | None = None
    """Content, metadata, free text: sealed under ``key``."""


def append(workspace_id: str, entries: Sequence[Entry], *, now_ms: int) -> None:
    """Add rows in order; four queries however many rows, and one announcement on commit.

    Raises: RuntimeError outside a transaction, since a row must stand or fall with its change.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("an audit row is written inside the transaction of its change")
    if not entries:
        return
    # Locks the head, so that two writers cannot both be next (on SQLite the transaction does).
    head = AuditHead.objects.select_for_update().get(pk=workspace_id)
    rows = []
    for entry in entries:
        row = _row(workspace_id, entry, now_ms=now_ms)
        row.sequence = head.sequence = head.sequence + 1
        row.previous_mac = head.mac
        row.mac = head.mac = row_mac(row)
        rows.append(row)
    if len(rows) == 1:
        insert(rows[0])
    else:
        AuditRow.objects.bulk_create(rows)
    head.save(update_fields=["sequence", "mac"])
    transaction.on_commit(lambda: live.announce(workspace_id, head.sequence))


def note(workspace_id: str, action: str, facts: dict[str, Any], *, cause: Cause) -> None:
    """Add the row of a change that touches no memory: a rule, a key, a member."""
    entry = Entry(action=action, actor=cause.actor, request_id=cause.request_id, facts=facts)
    append(workspace_id, [entry], now_ms=cause.now_ms)


def _row(workspace_id: str, entry: Entry, *, now_ms: int) -> AuditRow:
    row = AuditRow(
        workspace_id=workspace_id,
        at_ms=now_ms,
        action=entry.action,
        actor_kind=entry.actor.kind,
        actor_id=entry.actor.id,
        actor_label=entry.actor.label,
        request_id=entry.request_id,
        agent_id=entry.agent_id,
        operation_id=entry.operation_id,
        review_id=entry.review_id,
        facts=entry.facts,
    )
    if entry.memory is not None:
        row.memory_id = entry.memory.pk
        row.memory_version = entry.memory.version
        row.state_digest = state_digest(entry.memory, entry.key)
    if entry.words is not None and entry.key is not None:
        sealed = entry.key.seal(entry.words)
        row.seal_key_id = entry.key.id
        row.sealed, row.commitment = sealed.ciphertext, sealed.commitment
    return row
