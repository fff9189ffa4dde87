"""The filter language: what each operator means, and what is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores import filters
from stores.wire import MemoryRecord, MemoryType

NOW = 1_800_000_000_000


def a_record(metadata: dict[str, Any] | None = None, **fields: Any) -> MemoryRecord:
    values: dict[str, Any] = {
        "id": "m1",
        "agent_id": "agent",
        "type": MemoryType.SEMANTIC,
        "content": "x",
        "metadata": metadata or {},
        "created_at": NOW,
        "updated_at": NOW,
    }
    return MemoryRecord(**(values | fields))


def holds(condition: dict[str, Any], metadata: dict[str, Any] | None = None, **fields: Any) -> bool:
    return filters.matches(filters.parse(condition), a_record(metadata, **fields))


@pytest.mark.parametrize(
    ("condition", "metadata"),
    [
        ({"priority": 3}, {"priority": 3}),
        ({"priority": 3}, {"priority": 3.0}),
        ({"priority": {"$gte": 3, "$lt": 5}}, {"priority": 3}),
        ({"priority": {"$in": [1, 3]}}, {"priority": 3}),
        ({"priority": {"$nin": [1, 2]}}, {"priority": 3}),
        ({"priority": {"$ne": 4}}, {"priority": 3}),
        ({"name": {"$gt": "a"}}, {"name": "b"}),
        ({"tags": ["router", "fusion"]}, {"tags": ["fusion", "other", "router"]}),
        ({"tags": []}, {"tags": []}),
        ({"tags": {"$contains": "router"}}, {"tags": ["router"]}),
        ({"title": {"$contains": "out"}}, {"title": "router"}),
        ({"a.b": 1}, {"a": {"b": 1}}),
        ({"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a.b": 1}, {"a.b": 1, "a": {"b": 2}}),
        ({"a.b.c": 1}, {"a": {"b.c": 1}}),
        ({"flag": True}, {"flag": True}),
        ({"x": {"$eq": None}}, {"x": None}),
        ({"x": {"$exists": True}}, {"x": None}),
        ({"x": {"$exists": False}}, {}),
        ({"x": {"$not": {"$gt": 3}}}, {"x": 2}),
        ({"$or": [{"x": 1}, {"y": 2}]}, {"y": 2}),
        ({"$and": [{"x": 1}, {"y": 2}]}, {"x": 1, "y": 2}),
        ({"$not": {"x": 1}}, {"x": 2}),
        ({"n": 12345678901234567890123}, {"n": 12345678901234567890123}),
        ({}, {"anything": 1}),
    ],
)
def test_a_filter_matches(condition: dict[str, Any], metadata: dict[str, Any]):
    assert holds(condition, metadata)


@pytest.mark.parametrize(
    ("condition", "metadata"),
    [
        ({"flag": True}, {"flag": 1}),
        ({"flag": 1}, {"flag": True}),
        ({"list": [1]}, {"list": [True]}),
        ({"priority": "3"}, {"priority": 3}),
        ({"priority": {"$gt": 3}}, {"priority": "4"}),
        ({"priority": {"$gt": 0}}, {"priority": True}),
        ({"priority": {"$lt": 9}}, {}),
        ({"x": {"$eq": None}}, {}),
        ({"tags": ["router", "absent"]}, {"tags": ["router"]}),
        ({"tags": []}, {"tags": ["router"]}),
        ({"tags": "router"}, {"tags": ["router"]}),
        ({"tags": {"$eq": ["router"]}}, {"tags": ["router", "fusion"]}),
        ({"a.b": 1}, {"a.b": 2, "a": {"b": 1}}),
        ({"a.b": 1}, {"a": 1}),
        ({"n": 9223372036854775808}, {"n": 9223372036854775807}),
        ({"x": 1, "y": 2}, {"x": 1}),
    ],
)
def test_a_filter_does_not_match(condition: dict[str, Any], metadata: dict[str, Any]):
    assert not holds(condition, metadata)


def test_a_record_s_own_fields_are_filtered_under_their_names():
    assert holds({"type": "semantic", "user_id": "alice"}, user_id="alice")
    assert holds({"created_at": {"$gte": NOW}})
    assert holds({"source": {"$exists": False}})


def test_metadata_with_the_name_of_an_own_field_is_reached_by_its_prefix():
    assert holds({"metadata.source": "chat", "source": "user"}, {"source": "chat"}, source="user")


@pytest.mark.parametrize(
    ("condition", "named"),
    [
        ({"x": {"$regex": "a"}}, "$regex"),
        ({"$where": "1"}, "$where"),
        ({"$nor": [{"x": 1}]}, "$nor"),
        ({"x": {"$gt": 1, "y": 2}}, "y"),
        ({"x": {"$in": 5}}, "$in"),
        ({"x": {"$gt": True}}, "$gt"),
        ({"x": {"$gt": [1]}}, "$gt"),
        ({"x": {"$exists": 1}}, "$exists"),
        ({"x": {"$not": 3}}, "$not"),
        ({"$or": []}, "$or"),
        ({"$or": [{}]}, "$or"),
        ({"$and": {"x": 1}}, "$and"),
        ({"$not": {}}, "$not"),
        ({"x": None}, "null"),
    ],
)
def test_anything_else_is_refused_by_name(condition: dict[str, Any], named: str):
    with pytest.raises(filters.FilterError) as refusal:
        filters.parse(condition)
    assert named in str(refusal.value)


def test_a_refusal_names_the_path():
    with pytest.raises(filters.FilterError) as refusal:
        filters.parse({"$or": [{"team.lead": {"$regex": "a"}}]})
    assert (refusal.value.path, refusal.value.operator) == ("team.lead", "$regex")


def test_a_filter_nested_without_end_is_refused():
    condition: dict[str, Any] = {"x": 1}
    for _ in range(500):
        condition = {"$not": condition}
    with pytest.raises(filters.FilterError, match="nested"):
        filters.parse(condition)


# --- laws ----------------------------------------------------------------------------------------

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, "a", "b", ""])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=4,
)
worlds = st.dictionaries(st.sampled_from(["x", "y", "x.a"]), values)
paths = st.sampled_from(["x", "y", "x.a", "x.b", "z"])
comparable = st.integers(-3, 3) | st.sampled_from(["a", "b"])


@st.composite
def conditions(draw: st.DrawFn) -> dict[str, Any]:
    path = draw(paths)
    operators: st.SearchStrategy[dict[str, Any]] = st.one_of(
        st.fixed_dictionaries({"$eq": values}),
        st.fixed_dictionaries({"$in": st.lists(values, max_size=3)}),
        st.fixed_dictionaries({"$gt": comparable}),
        st.fixed_dictionaries({"$lte": comparable}),
        st.fixed_dictionaries({"$exists": st.booleans()}),
        st.fixed_dictionaries({"$contains": values}),
    )
    return {path: draw(operators)}


@given(conditions(), worlds)
def test_not_turns_every_answer_around(condition: dict[str, Any], world: dict[str, Any]):
    assert holds({"$not": condition}, world) is not holds(condition, world)


@given(conditions(), conditions(), worlds)
def test_and_or_and_not_obey_de_morgan(
    left: dict[str, Any], right: dict[str, Any], world: dict[str, Any]
):
    neither = {"$not": {"$or": [left, right]}}
    both_not = {"$and": [{"$not": left}, {"$not": right}]}
    assert holds(neither, world) == holds(both_not, world)


@given(paths, values, worlds)
def test_ne_is_the_opposite_of_eq_and_nin_of_in(path: str, value: Any, world: dict[str, Any]):
    assert holds({path: {"$ne": value}}, world) is not holds({path: {"$eq": value}}, world)
    assert holds({path: {"$nin": [value]}}, world) is not holds({path: {"$in": [value]}}, world)


@given(paths, comparable, worlds)
def test_greater_excludes_less_or_equal(path: str, value: Any, world: dict[str, Any]):
    above, below = holds({path: {"$gt": value}}, world), holds({path: {"$lte": value}}, world)
    assert not (above and below)
    if not holds({path: {"$exists": True}}, world):
        assert not above
        assert not below


@given(paths, st.lists(values, max_size=3), worlds)
def test_in_is_an_or_of_equalities(path: str, candidates: list[Any], world: dict[str, Any]):
    one_by_one = any(holds({path: {"$eq": value}}, world) for value in candidates)
    assert holds({path: {"$in": candidates}}, world) == one_by_one


@given(conditions(), conditions(), worlds)
def test_another_condition_never_widens_a_filter(
    condition: dict[str, Any], extra: dict[str, Any], world: dict[str, Any]
):
    if holds({"$and": [condition, extra]}, world):
        assert holds(condition, world)
