"""What is already known about the thing a proposal speaks of, and what it would replace."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from governance.models import Memory
from governance.models.fields import json_text
from governance.models.memory import MemoryQuerySet

# Memories of one entity that are looked through, the newest first.
_LOOKED_AT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Visible memories about the same thing, newest first.

    ``replaces`` says what an approval does with them unless the reviewer chooses otherwise: they
    are replaced if the proposal names them or speaks of the same attribute of the same entity;
    the same entity alone only makes the newest one worth comparing with.
    """

    memories: Sequence[Memory] = ()
    replaces: bool = False


def about(memory: Memory, *, now_ms: int) -> Known:
    """What a proposed memory stands beside; at most two queries, none if it names nothing."""
    named = named_by(memory, now_ms=now_ms)
    related = _of_the_same_entity(memory, now_ms=now_ms)
    attribute = memory.metadata.get("attribute")
    same = [other for other in related if attribute and _attribute(other) == attribute]
    if named or same:
        return Known(memories=_unique([*named, *same]), replaces=True)
    return Known(memories=related[:1])


def _beside(memory: Memory, *, now_ms: int) -> MemoryQuerySet:
    """The other visible memories of the same agent and user, newest first."""
    return (
        Memory.objects.of(memory.workspace_id, memory.agent_id, None)
        .visible(now_ms=now_ms)
        # No user is not any user: what is known of Alice is not replaced for everybody.
        .filter(user_id=memory.user_id)
        .exclude(pk=memory.pk)
        .select_related("seal_key")
        .order_by("-created_at", "-pk")
    )


def named_by(memory: Memory, *, now_ms: int) -> list[Memory]:
    """The visible memories in ``metadata.supersedes``: an id, or a list of them.

    Metadata is the agent's own: what is no id of such a memory is left alone, not refused.
    """
    named = memory.metadata.get("supersedes")
    ids = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    ids = [item for item in ids if isinstance(item, str)]
    return list(_beside(memory, now_ms=now_ms).filter(pk__in=ids)) if ids else []


def _of_the_same_entity(memory: Memory, *, now_ms: int) -> list[Memory]:
    entity = memory.metadata.get("entity")
    if not isinstance(entity, str) or not entity:
        return []  # only likeness could tell, which is not said here
    attribute = memory.metadata.get("attribute")
    # Metadata is JSON text: this narrows, and what the keys really say decides.
    around = _beside(memory, now_ms=now_ms)
    candidates = around.filter(type=memory.type, metadata__contains=json_text(entity))[:_LOOKED_AT]
    return [
        other
        for other in candidates
        if other.metadata.get("entity") == entity
        and (not attribute or _attribute(other) in {None, _attribute(memory)})
    ]


def _attribute(memory: Memory) -> Any:
    value = memory.metadata.get("attribute")
    return value if isinstance(value, str) else None


def _unique(memories: list[Memory]) -> list[Memory]:
    return list({memory.pk: memory for memory in memories}.values())
