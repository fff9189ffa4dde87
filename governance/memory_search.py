"""Browsing memories for people: search, one memory, its history. Reads only."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Q

from governance.errors import NotFound
from governance.models import EndReason, Membership, Memory, MemoryVersion
from governance.models.memory import MemoryQuerySet
from stores.protocol import PENDING_APPROVAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place in the list, which is newest first. Neither part of it ever changes."""

    created_at: int
    memory_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Which memories are asked for; what is empty holds for all."""

    agent_id: str = ""
    user_id: str = ""
    type: str = ""
    state: str = ""
    """One of ``STATES``."""
    words: str = ""
    """Each must stand somewhere in the text, in any case and order."""
    agents: Collection[str] | None = None
    """Only these agents' are there at all; None: every agent's."""

    def rows(self, workspace_id: str, *, now_ms: int) -> MemoryQuerySet:
        asked = {"agent_id": self.agent_id, "user_id": self.user_id, "type": self.type}
        rows = Memory.objects.filter(
            workspace_id=workspace_id, **{name: value for name, value in asked.items() if value}
        )
        if self.agents is not None:
            rows = rows.filter(agent_id__in=self.agents)
        for word in self.words.split():
            rows = rows.filter(content__icontains=word)
        return _in_state(rows, self.state, now_ms=now_ms)


#: What a memory's life can have come to, for people.
STATES = ("live", "waiting", "archived", "expired", "forgotten", "merged", "rejected", "erased")
_ENDED = {
    "expired": EndReason.EXPIRED,
    "forgotten": EndReason.FORGOTTEN,
    "merged": EndReason.MERGED,
    "rejected": EndReason.REJECTED,
}


def _in_state(rows: MemoryQuerySet, state: str, *, now_ms: int) -> MemoryQuerySet:
    past = Q(deleted_at__isnull=True, expires_at__lte=now_ms)
    if state == "live":
        return rows.visible(now_ms=now_ms)
    if state == "waiting":
        return rows.filter(deleted_at=PENDING_APPROVAL)
    if state == "archived":
        return rows.filter(deleted_at__isnull=True, archived_at__isnull=False).exclude(past)
    if state == "erased":
        return rows.filter(erased_at__isnull=False)
    if state in _ENDED:
        ended = Q(end_reason=_ENDED[state], erased_at__isnull=True)
        return rows.filter(ended | past if state == "expired" else ended)
    return rows


def state_of(memory: Memory, *, now_ms: int) -> str:
    """The one of ``STATES`` a memory is in; another reason for its end as it is."""
    if memory.erased_at is not None:
        return "erased"
    if memory.is_pending:
        return "waiting"
    if memory.deleted_at is not None:
        return memory.end_reason
    if memory.expires_at is not None and memory.expires_at <= now_ms:
        return "expired"
    return "archived" if memory.archived_at is not None else "live"


def older(
    workspace_id: str, search: Search, place: Place | None, *, limit: int, now_ms: int
) -> list[Memory]:
    """The ``limit`` memories after a place, newest first; the newest of all without one."""
    rows = search.rows(workspace_id, now_ms=now_ms)
    if place is not None:
        same_time = Q(created_at=place.created_at, pk__lt=place.memory_id)
        rows = rows.filter(Q(created_at__lt=place.created_at) | same_time)
    return list(rows.order_by("-created_at", "-pk")[:limit])


def newer(
    workspace_id: str, search: Search, place: Place, *, limit: int, now_ms: int
) -> list[Memory]:
    """The ``limit`` memories nearest before a place, newest first."""
    same_time = Q(created_at=place.created_at, pk__gt=place.memory_id)
    rows = search.rows(workspace_id, now_ms=now_ms).filter(
        Q(created_at__gt=place.created_at) | same_time
    )
    return list(rows.order_by("created_at", "pk")[:limit])[::-1]


def access_memory(membership: Membership, memory_id: str) -> Memory:
    """A memory of the member's workspace and agents, whatever became of it.

    Raises: NotFound, whether it is missing or another's.
    """
    memory = Memory.objects.filter(workspace_id=membership.workspace_id, pk=memory_id).first()
    if memory is None or not membership.sees(memory.agent_id):
        raise NotFound("There is no such memory.")
    return memory


def history(memory: Memory) -> list[MemoryVersion]:
    """Its versions, oldest first; after an erasure only the last. One query."""
    return list(memory.versions.order_by("number"))
