"""A memory's state as a row, for every store that keeps rows."""

from typing import Any, Final

from stores.protocol import ReplicaRecord, Vector
from stores.sessions import session_of
from stores.wire import MemoryRecord

#: Column order as ``to_row`` writes it and ``from_row`` reads it. ``record`` is JSON text: other
#: columns repeat what a search narrows by.
COLUMNS: Final = (
    "id",
    "version",
    "agent_id",
    "user_id",
    "type",
    "created_at",
    "is_visible",
    "record",
    "deleted_at",
    "archived_at",
    "demoted_at",
    "last_recalled_at",
    "session",
)


def to_row(state: ReplicaRecord) -> tuple[Any, ...]:
    record = state.record
    return (
        record.id,
        state.version,
        record.agent_id,
        record.user_id,
        record.type.value,
        record.created_at,
        is_visible(state),
        record.model_dump_json(),
        state.deleted_at,
        state.archived_at,
        state.demoted_at,
        state.last_recalled_at,
        session_of(record),
    )


def from_row(row: tuple[Any, ...], *, vector: Vector | None) -> ReplicaRecord:
    """Reads ``COLUMNS``; what follows them is the store's own."""
    record, deleted_at, archived_at, demoted_at, recalled_at = row[7:12]
    return ReplicaRecord(
        record=MemoryRecord.model_validate_json(record),
        version=row[1],
        vector=vector,
        deleted_at=deleted_at,
        archived_at=archived_at,
        demoted_at=demoted_at,
        last_recalled_at=recalled_at,
    )


def is_visible(state: ReplicaRecord) -> bool:
    """Whether a search may find it."""
    return state.deleted_at is None and state.archived_at is None
