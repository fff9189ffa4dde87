"""What exactly is digested: a memory's state, and an audit row."""

import hashlib
from typing import Any

from governance.models import AuditRow, Memory, MemoryVersion
from governance.models.memory import STATE_FIELDS
from governance.sealing import DataKey, audit_mac, workspace_digest

_ROW_FIELDS = (
    "workspace_id", "sequence", "at_ms", "action", "actor_kind", "actor_id", "actor_label",
    "request_id", "agent_id", "operation_id", "review_id", "memory_id", "memory_version",
    "state_digest", "facts", "seal_key_id", "commitment", "previous_mac",
)  # fmt: skip


def row_mac(row: AuditRow) -> str:
    """Keyed digest over every column, the ciphertext included; chains to the row before."""
    value = {name: getattr(row, name) for name in _ROW_FIELDS}
    value["sealed"] = hashlib.sha256(bytes(row.sealed or b"")).hexdigest()
    return audit_mac(value)


def state_digest(memory: Memory, key: DataKey | None) -> str:
    """Keyed digest over a memory as it is now. After erasure there is no key and are no words."""
    return _digest(memory, memory, memory.version, memory.updated_at, key)


def version_digest(memory: Memory, version: MemoryVersion, key: DataKey | None) -> str:
    """The digest the memory had when ``version`` was its state."""
    return _digest(memory, version, version.number, version.valid_from_ms, key)


def _digest(
    memory: Memory,
    state: Memory | MemoryVersion,
    number: int,
    since_ms: int,
    key: DataKey | None,
) -> str:
    value: dict[str, Any] = {name: getattr(state, name) for name in STATE_FIELDS}
    value |= {
        "id": memory.pk,
        "workspace": memory.workspace_id,
        "agent": memory.agent_id,
        "user": memory.user_id,
        "created_at": memory.created_at,
        "version": number,
        "since": since_ms,
    }
    return key.digest(value) if key else workspace_digest(memory.workspace_id, value)
