"""A replica in a dictionary: for tests, and for trying things out without a file."""

from collections import defaultdict
from collections.abc import Collection, Container, Mapping, Sequence
from itertools import pairwise
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
from stores.sessions import session_of
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
    lines: dict[tuple[str | None, str | None], list[MemoryRecord]] = defaultdict(list)
    for state in sorted(states, key=lambda state: (state.record.created_at, state.record.id)):
        record = state.record
        if record.type is MemoryType.EPISODIC:
            for session in {None, session_of(record)}:
                lines[record.user_id, session].append(record)
    beside: dict[str, list[str | None]] = defaultdict(lambda: [None, None])
    # Those of sessions first.
    for (_, session), line in sorted(lines.items(), key=lambda item: item[0][1] is None):
        for one, following in pairwise(line):
            if session is not None:
                beside[one.id][1], beside[following.id][0] = following.id, one.id
            elif following.created_at - one.created_at <= fusion.NEIGHBOUR_GAP_MS:
                beside[one.id][1] = beside[one.id][1] or following.id
                beside[following.id][0] = beside[following.id][0] or one.id
    return {
        memory_id: fusion.Neighbours(before, after)
        for memory_id, (before, after) in beside.items()
        if memory_id in known
    }


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
