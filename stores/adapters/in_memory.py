"""A replica in a dictionary: for tests, and for trying things out without a file."""

from collections.abc import Collection, Container, Mapping, Sequence
from typing import Final

import numpy as np

from stores import fusion
from stores.protocol import (
    Candidate,
    Capability,
    Health,
    ReplicaRecord,
    ScanPage,
    Scope,
    SearchResult,
    Vector,
)
from stores.wire import MemoryRecord, MemoryType
from stores.words import index_text, query_terms


class InMemoryReplica:
    """Follows every rule of ``Replica``; its text leg counts equal words and knows no stemming."""

    capabilities: Final = frozenset(Capability) - {Capability.GRAPH, Capability.GOVERNANCE}

    def __init__(self, name: str = "memory") -> None:
        self.name = name
        self._states: dict[str, ReplicaRecord] = {}
        self._erased: dict[str, int] = {}

    async def put(self, records: Sequence[ReplicaRecord]) -> None:
        for state in records:
            if state.version > self._version(state.record.id):
                self._states[state.record.id] = state
                self._erased.pop(state.record.id, None)

    async def erase(self, versions: Mapping[str, int]) -> None:
        for memory_id, version in versions.items():
            if version >= self._version(memory_id):
                self._states.pop(memory_id, None)
                self._erased[memory_id] = version

    async def drop(self, ids: Collection[str]) -> None:
        for memory_id in ids:
            self._states.pop(memory_id, None)
            self._erased.pop(memory_id, None)

    async def search(
        self,
        scope: Scope,
        *,
        text: str,
        vector: Vector | None,
        limit: int,
        within: Collection[str] | None = None,
        exclude: Collection[str] = (),
    ) -> SearchResult:
        visible = [
            state
            for state in self._states.values()
            if _is_visible(state, scope)
            and (within is None or state.record.id in within)
            and state.record.id not in exclude
        ]
        scores = fusion.combine_legs(_similarities(vector, visible), _text_scores(text, visible))
        scores = fusion.add_context(scores, _neighbours(visible, scores))
        unranked = [
            Candidate(id=state.record.id, score=0.0)
            for state in reversed(visible)
            if state.record.id not in scores
        ]
        ranked = fusion.in_order(scores) + unranked
        return SearchResult(candidates=ranked[:limit], exhausted=len(ranked) <= limit)

    async def fetch(self, ids: Collection[str]) -> Sequence[ReplicaRecord]:
        return [
            self._states[memory_id] for memory_id in dict.fromkeys(ids) if memory_id in self._states
        ]

    async def scan(self, *, cursor: str | None = None, limit: int = 500) -> ScanPage:
        later = sorted(memory_id for memory_id in self._states if memory_id > (cursor or ""))
        page = later[:limit]
        return ScanPage(
            records=[self._states[memory_id] for memory_id in page],
            cursor=page[-1] if page and len(later) > limit else None,
        )

    async def health(self) -> Health:
        return Health(ok=True, detail={"held": len(self._states)})

    async def close(self) -> None:
        return None

    def _version(self, memory_id: str) -> int:
        held = self._states.get(memory_id)
        return held.version if held else self._erased.get(memory_id, 0)


def _is_visible(state: ReplicaRecord, scope: Scope) -> bool:
    return (
        state.deleted_at is None
        and state.archived_at is None
        and state.record.agent_id == scope.agent_id
        and scope.user_id in (None, state.record.user_id)
    )


def _similarities(vector: Vector | None, states: Sequence[ReplicaRecord]) -> dict[str, float]:
    if vector is None:
        return {}
    return {
        state.record.id: float(np.clip((1 + np.dot(state.vector, vector)) / 2, 0, 1))
        for state in states
        if state.vector is not None
    }


def _neighbours(
    states: Sequence[ReplicaRecord], known: Container[str]
) -> dict[str, fusion.Neighbours]:
    """Each known episode with those of the same user just before and after it."""
    episodes = sorted(
        (state.record for state in states if state.record.type is MemoryType.EPISODIC),
        key=lambda record: (record.user_id or "", record.created_at, record.id),
    )
    lined_up: list[MemoryRecord | None] = [None, *episodes, None]
    return {
        record.id: fusion.Neighbours(_beside(record, before), _beside(record, after))
        for before, record, after in zip(lined_up, episodes, lined_up[2:], strict=False)
        if record.id in known
    }


def _beside(record: MemoryRecord, other: MemoryRecord | None) -> str | None:
    is_beside = (
        other is not None
        and other.user_id == record.user_id
        and abs(other.created_at - record.created_at) <= fusion.NEIGHBOUR_GAP_MS
    )
    return other.id if other is not None and is_beside else None


def _text_scores(text: str, states: Sequence[ReplicaRecord]) -> dict[str, float]:
    """The share of the query's terms a text holds; texts that hold none are left out."""
    terms = query_terms(text)
    scores = {}
    for state in states:
        words = set(index_text(state.record.content).split())
        held = sum(
            any(word.startswith(term.text) for word in words)
            if term.is_prefix
            else term.text in words
            for term in terms
        )
        if held:
            scores[state.record.id] = held / len(terms)
    return scores
