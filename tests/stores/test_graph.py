"""How memories hang together: hops, their boost, and the walls they never cross."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores import graph
from stores.wire import MemoryRecord, MemoryType
from tests.stores.builders import NOW, a_record


def linked(memory_id: str, *others: str, **fields: Any) -> MemoryRecord:
    return a_record(memory_id, metadata={"links": list(others)}, **fields)


def about(memory_id: str, entity: str, **fields: Any) -> MemoryRecord:
    return a_record(memory_id, metadata={"entity": entity}, **fields)


def distances(records: list[MemoryRecord], *hits: str, hops: int = 3) -> dict[str, int]:
    found = graph.nearest_hits(records, hits, hops=hops)
    return {memory_id: nearest.distance for memory_id, nearest in found.items()}


CHAIN = [linked("a", "b"), linked("b", "c"), linked("c", "d"), linked("d", "e"), a_record("e")]


@pytest.mark.parametrize(
    ("far", "hops", "expected"),
    [
        ("b", 0, None),
        ("b", 1, 1),
        ("c", 1, None),
        ("c", 2, 2),
        ("d", 2, None),
        ("d", 3, 3),
        ("e", 3, None),
    ],
)
def test_a_hit_is_found_within_the_hops_and_no_further(far: str, hops: int, expected: int | None):
    both = {} if expected is None else {"a": expected, far: expected}
    assert distances(CHAIN, "a", far, hops=hops) == both


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"entity": "Alice"}, {"entity_name": "Alice"}),
        ({"entities": ["Bob", "Alice"]}, {"participants": ["Alice"]}),
        ({"links": ["b"]}, {}),
        ({}, {"links": "a"}),
        ({"derived_from": ["b"]}, {}),
        ({}, {"supersedes": "a"}),
    ],
)
def test_what_makes_two_memories_neighbours(one: dict[str, Any], other: dict[str, Any]):
    records = [a_record("a", metadata=one), a_record("b", metadata=other)]
    assert distances(records, "a", "b", hops=1) == {"a": 1, "b": 1}


def test_episodes_that_follow_each_other_in_a_session_are_neighbours():
    records = [
        a_record(
            f"e{at}", type=MemoryType.EPISODIC, created_at=NOW + at, metadata={"session": at % 2}
        )
        for at in range(6)
    ]
    assert distances(records, "e0", "e2", hops=1) == {"e0": 1, "e2": 1}
    assert distances(records, "e0", "e4", hops=3) == {"e0": 2, "e4": 2}
    assert distances(records, "e0", "e1") == {}


@pytest.mark.parametrize(
    "metadata",
    [{}, {"entity": 7}, {"links": [1, None, {"id": "b"}]}, {"links": {"b": 1}}, {"session": 1}],
)
def test_facts_that_stand_alone_have_no_neighbours(metadata: dict[str, Any]):
    records = [a_record("a", metadata=metadata), a_record("b", metadata=metadata)]
    assert distances(records, "a", "b") == {}


@pytest.mark.parametrize("wall", [{"agent_id": "other"}, {"user_id": "ann"}])
def test_no_edge_crosses_a_wall(wall: dict[str, Any]):
    records = [about("a", "Alice"), about("b", "Alice", **wall)]
    assert distances(records, "a", "b") == {}
    assert distances([linked("a", "b"), a_record("b", **wall)], "a", "b") == {}
    # Nor does a way lead through what lies behind one.
    through = [linked("a", "x"), linked("x", "b", **wall), a_record("b")]
    assert distances(through, "a", "b") == {}


def test_the_nearest_lend_and_are_named_the_best_first():
    records = [linked("a", "near", "also near"), a_record("near"), linked("also near", "far")]
    records.append(a_record("far"))
    scores = {"a": 0.4, "near": 0.1, "also near": 0.2, "far": 0.9}
    nearest = graph.nearest_hits(records, scores, hops=3)
    assert graph.supporting("a", nearest, scores) == ["also near", "near"]
    assert graph.supporting("unknown", nearest, scores) == []


def test_the_boost_is_the_protocol_s():
    nearest = {
        "one": graph.Nearest(distance=1, helpers=frozenset("x")),
        "three": graph.Nearest(distance=3, helpers=frozenset("x")),
    }
    boosted = graph.boosted({"one": 1.0, "three": 1.0, "alone": 1.0}, nearest)
    assert boosted == pytest.approx({"one": 1.05, "three": 1.025, "alone": 1.0})


def test_an_entity_of_thousands_is_no_burden():
    records = [about(f"m{at:05}", "everybody") for at in range(5_000)]
    hits = [record.id for record in records[:1_000]]
    found = graph.nearest_hits(records, hits, hops=3)
    assert {nearest.distance for nearest in found.values()} == {1}
    assert len(graph.supporting(hits[0], found, {})) == graph.SUPPORTING_MAX


names = st.sampled_from("abcde")
some_metadata = st.fixed_dictionaries({"links": st.lists(names), "entity": st.sampled_from("xyz")})
records = st.lists(
    st.builds(
        a_record,
        names,
        agent_id=st.sampled_from(["one", "two"]),
        user_id=st.sampled_from([None, "ann"]),
        metadata=st.fixed_dictionaries(
            {"links": st.lists(names), "entity": st.sampled_from("xyz")}
        ),
    ),
    unique_by=lambda record: record.id,
)


@given(records, st.sets(names), st.integers(0, 3))
def test_distance_is_mutual_and_stays_behind_its_wall(
    records: list[MemoryRecord], hits: set[str], hops: int
):
    walls = {record.id: (record.agent_id, record.user_id) for record in records}
    hits &= walls.keys()
    found = graph.nearest_hits(records, hits, hops=hops)
    for memory_id, nearest in found.items():
        assert 1 <= nearest.distance <= hops
        for helper in nearest.helpers:
            assert helper in hits - {memory_id}
            assert walls[helper] == walls[memory_id]
            assert found[helper].distance <= nearest.distance
