"""Small builders for states of memories; a test names only what matters to it."""

from typing import Any

from stores.protocol import ReplicaRecord
from stores.testing import HashEmbedder
from stores.wire import MemoryRecord, MemoryType

NOW = 1_800_000_000_000
EMBEDDER = HashEmbedder()


def a_record(memory_id: str = "m1", content: str = "some content", **fields: Any) -> MemoryRecord:
    values: dict[str, Any] = {
        "id": memory_id,
        "agent_id": "agent",
        "type": MemoryType.SEMANTIC,
        "content": content,
        "created_at": NOW,
        "updated_at": NOW,
    }
    return MemoryRecord(**(values | fields))


def a_state(
    memory_id: str = "m1",
    content: str = "some content",
    *,
    version: int = 1,
    state: dict[str, Any] | None = None,
    **fields: Any,
) -> ReplicaRecord:
    """A state with its vector; ``fields`` are the record's, ``state`` the replica's own."""
    values: dict[str, Any] = {"vector": EMBEDDER.embed([content])[0]} | (state or {})
    return ReplicaRecord(record=a_record(memory_id, content, **fields), version=version, **values)
