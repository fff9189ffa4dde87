"""Between a memory's state and its row."""

import hashlib
import json
from typing import Any, Final

import numpy as np

from stores.protocol import ReplicaRecord, Vector
from stores.wire import MemoryRecord

#: Where the vectors of records lie that no search may find.
HIDDEN_SHELF: Final = 0

#: Column order of ``memory`` as ``to_row`` writes it and ``from_row`` reads it (with the vector).
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
    )


def from_row(row: tuple[Any, ...]) -> ReplicaRecord:
    """Reads ``COLUMNS`` followed by the vector's bytes or None."""
    _, version, *_, record, deleted_at, archived_at, demoted_at, recalled_at, vector = row
    return ReplicaRecord(
        record=MemoryRecord.model_validate_json(record),
        version=version,
        vector=None if vector is None else np.frombuffer(vector, dtype=np.float32),
        deleted_at=deleted_at,
        archived_at=archived_at,
        demoted_at=demoted_at,
        last_recalled_at=recalled_at,
    )


def is_visible(state: ReplicaRecord) -> bool:
    return state.deleted_at is None and state.archived_at is None


def vector_bytes(vector: Vector) -> bytes:
    return np.ascontiguousarray(vector, dtype=np.float32).tobytes()


def shelf(workspace: str, agent_id: str) -> int:
    """The partition an agent's visible vectors lie in.

    A hash, so that no name stays in an index. Every search joins ``memory`` and compares the names
    themselves, so that two agents on one shelf could not see each other either.
    """
    return key("shelf", workspace, agent_id)


def user_key(user_id: str | None) -> int:
    return 0 if user_id is None else key("user", user_id)


def key(*parts: str) -> int:
    """A positive 63-bit hash of some names, never 0."""
    digest = hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 1) or 1
