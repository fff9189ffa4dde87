"""How memories hang together, and what that lends a hit. Pure.

Two memories of the same agent and user are one hop apart if

- they are about the same entity (``metadata.entity``, ``entity_name``, ``entities``,
  ``participants``),
- one names the other (``metadata.links``, ``derived_from``, ``supersedes``: an id or a list),
- they are episodes that follow each other in one session (``metadata.session``).

A hit that is at most ``hops`` hops away from another hit scores more, as the protocol has it::

    score * (1 + 0.1 * (1 / (1 + distance to the nearest other hit)))

Memories of another agent or user are never on the way: an edge does not cross that wall.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from stores.sessions import session_of
from stores.wire import MemoryRecord

#: The protocol's factor.
BOOST: Final = 0.1
#: So many helpers a hit names at most, the best first.
SUPPORTING_MAX: Final = 10
#: Of a list of names or ids, so many count: what is longer is no graph but noise.
NAMES_MAX: Final = 64

_ENTITY_KEYS: Final = ("entity", "entity_name", "entities", "participants")
_LINK_KEYS: Final = ("links", "derived_from", "supersedes")

#: What two memories one hop apart have in common.
_Meeting = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """The other hits that are nearest to one: how far, and their ids."""

    distance: int
    helpers: frozenset[str]


def nearest_hits(
    records: Iterable[MemoryRecord], hits: Collection[str], *, hops: int
) -> dict[str, Nearest]:
    """For each hit the nearest other hits, where there are any within ``hops``.

    Args:
        records: what may be walked over, the hits among them.
        hits: ids.
        hops: at most so many steps; 0 finds nothing.
    """
    if hops <= 0:
        return {}
    graph = _Graph(records, hits)
    found = ((hit, graph.nearest(hit, hops)) for hit in hits)
    return {hit: nearest for hit, nearest in found if nearest is not None}


def boosted(scores: Mapping[str, float], nearest: Mapping[str, Nearest]) -> dict[str, float]:
    """The scores with the protocol's boost."""
    return {
        memory_id: score * (1 + BOOST / (1 + nearest[memory_id].distance))
        if memory_id in nearest
        else score
        for memory_id, score in scores.items()
    }


def supporting(
    memory_id: str, nearest: Mapping[str, Nearest], scores: Mapping[str, float]
) -> list[str]:
    """Who lent a hit its boost, the best first."""
    if memory_id not in nearest:
        return []
    helpers = nearest[memory_id].helpers
    return sorted(helpers, key=lambda helper: (-scores.get(helper, 0.0), helper))[:SUPPORTING_MAX]


class _Graph:
    """Memories and where they meet. A hit's neighbours are looked up, not listed.

    An entity that a thousand memories share is one meeting of a thousand, not a million edges.
    """

    def __init__(self, records: Iterable[MemoryRecord], hits: Collection[str]) -> None:
        by_id = {record.id: record for record in records}
        self._meetings: dict[str, set[_Meeting]] = defaultdict(set)
        self._members: dict[_Meeting, set[str]] = defaultdict(set)
        for meeting, memory_id in _meetings(by_id):
            self._meetings[memory_id].add(meeting)
            self._members[meeting].add(memory_id)
        self._hits = {meeting: members & set(hits) for meeting, members in self._members.items()}

    def nearest(self, start: str, hops: int) -> Nearest | None:
        seen, passed = {start}, set[_Meeting]()
        frontier = {start}
        for distance in range(1, hops + 1):
            meetings = {m for memory_id in frontier for m in self._meetings[memory_id]} - passed
            helpers = {hit for meeting in meetings for hit in self._hits[meeting]} - {start}
            if helpers:
                return Nearest(distance=distance, helpers=frozenset(helpers))
            passed |= meetings
            frontier = {m for meeting in meetings for m in self._members[meeting]} - seen
            seen |= frontier
        return None


def _meetings(records: Mapping[str, MemoryRecord]) -> Iterator[tuple[_Meeting, str]]:
    """Every place where memories meet, with each of the memories that come there."""
    sessions: dict[_Meeting, list[MemoryRecord]] = defaultdict(list)
    for record in records.values():
        wall = (record.agent_id, record.user_id)
        for name in _names(record.metadata, _ENTITY_KEYS):
            yield ("entity", wall, name), record.id
        for other_id in _names(record.metadata, _LINK_KEYS):
            other = records.get(other_id)
            if other is not None and (other.agent_id, other.user_id) == wall:
                link = ("link", *sorted((record.id, other_id)))
                yield link, record.id
                yield link, other_id
        if (session := session_of(record)) is not None:
            sessions[*wall, session].append(record)
    for episodes in sessions.values():
        episodes.sort(key=lambda record: (record.created_at, record.id))
        for one, next_one in pairwise(episodes):
            yield ("sequence", one.id, next_one.id), one.id
            yield ("sequence", one.id, next_one.id), next_one.id


def _names(metadata: Mapping[str, Any], keys: Sequence[str]) -> set[str]:
    """The strings under these keys, alone or in lists; anything else is not a name."""
    names: set[str] = set()
    for key in keys:
        value = metadata.get(key)
        values = value[:NAMES_MAX] if isinstance(value, list) else [value]
        names.update(name for name in values if isinstance(name, str) and name)
    return names
