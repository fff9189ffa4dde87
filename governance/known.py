"""What is already known about the thing a proposal speaks of: what a reviewer compares it with."""

import json
from typing import Any

from governance.models import Memory

# Memories of one entity that are looked through for the newest with the same attribute.
_LOOKED_AT = 200


def same_subject(memory: Memory, *, now_ms: int) -> Memory | None:
    """The newest visible memory of the same agent and user about the same entity and attribute.

    Nothing without an entity: then only likeness could tell, which is not said here. One query.
    """
    entity = _subject(memory)[0]
    if not isinstance(entity, str) or not entity:
        return None
    candidates = (
        Memory.objects.of(memory.workspace_id, memory.agent_id, None)
        .visible(now_ms=now_ms)
        # Metadata is JSON text: this narrows, and what the keys really say decides.
        .filter(
            user_id=memory.user_id,
            type=memory.type,
            metadata__contains=json.dumps(entity, ensure_ascii=False),
        )
        .exclude(pk=memory.pk)
        .order_by("-created_at", "-pk")[:_LOOKED_AT]
    )
    return next((other for other in candidates if _subject(other) == _subject(memory)), None)


def _subject(memory: Memory) -> tuple[Any, Any]:
    return memory.metadata.get("entity"), memory.metadata.get("attribute")
