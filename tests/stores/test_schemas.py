"""The JSON Schemas agree with the models, and the few places where they cannot."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ValidationError

from stores import wire
from stores.wire import limits, schemas

MODELS: dict[str, type[BaseModel]] = {
    "operations/remember": wire.RememberRequest,
    "operations/remember.response": wire.RememberResponse,
    "operations/recall": wire.RecallRequest,
    "operations/recall.response": wire.RecallResponse,
    "operations/forget": wire.ForgetRequest,
    "operations/forget.response": wire.ForgetResponse,
    "operations/merge": wire.MergeRequest,
    "operations/merge.response": wire.MergeResponse,
    "operations/expire": wire.ExpireRequest,
    "operations/expire.response": wire.ExpireResponse,
}
TYPES = [memory_type.value for memory_type in wire.MemoryType]
NOW = 1_716_700_000_000
A_REMEMBER = {"agent_id": "a", "type": "semantic", "content": "c"}


def model_accepts(model: type[BaseModel], value: Any) -> bool:
    try:
        model.model_validate(value)
    except ValidationError:
        return False
    return True


# --- the documents -------------------------------------------------------------------------------


def test_the_schemas_are_those_the_protocol_names() -> None:
    assert set(schemas.names()) == {
        *MODELS,
        *(f"types/{memory_type}" for memory_type in TYPES),
        "governance/review",
        "governance/review.response",
        "common",
    }


@pytest.mark.parametrize("name", schemas.names())
def test_each_is_a_valid_2020_12_schema_under_its_own_id(name: str) -> None:
    schema = schemas.load(name)

    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    assert schema["$id"] == f"https://memorywire.dev/schemas/v0/{name}"
    Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", ["operations/rename", "../limits", "operations/../common", ""])
def test_another_name_is_a_key_error(name: str) -> None:
    with pytest.raises(KeyError):
        schemas.validator(name)


# --- against the models --------------------------------------------------------------------------

# Characters every side agrees about; the others are among the exceptions below.
words = st.text("aZé日😀", max_size=4)
visible = st.text("aZé 日😀", max_size=4).map(lambda text: text + "x")
objects = st.dictionaries(words, words | st.integers() | st.lists(words), max_size=2)
types = st.sampled_from(TYPES)
fusions = st.sampled_from(list(wire.Fusion)).map(str)
strategies = st.sampled_from(list(wire.MergeStrategy)).map(str)
actions = st.sampled_from(list(wire.ExpireAction)).map(str)
counts = st.integers(0, 9)
confidences = st.floats(0, 1, exclude_min=True, exclude_max=True) | st.sampled_from([0, 1])
days = st.sampled_from([1, 90, limits.DAYS_MAX])
times = st.sampled_from([limits.EPOCH_MS_MIN, NOW, limits.EPOCH_MS_MAX])
ids = st.lists(st.sampled_from(["m1", "m2", "x" * limits.MEMORY_ID_MAX]), min_size=1, max_size=3)
#: Tried on every field: the wrong type for most, the empty value for some.
JUNK: list[Any] = [
    *[None, True, -1, 0, 4, 0.5, 1.5, -0.5, NOW, "", " ", "x", [], {}, [None], ["x"], {"a": 1}],
    *[limits.DAYS_MAX + 1, limits.RECALL_K_MAX, limits.RECALL_K_MAX + 1, 1_716_700_000],
    *[limits.EPOCH_MS_MIN - 1, limits.EPOCH_MS_MAX + 1],
    *[["m"] * limits.ID_LIST_MAX, ["m"] * (limits.ID_LIST_MAX + 1)],
    *[["x" * limits.MEMORY_ID_MAX], ["x" * (limits.MEMORY_ID_MAX + 1)], [""]],
]


def objects_of(model: type[BaseModel]) -> st.SearchStrategy[dict[str, Any]]:
    return st.deferred(lambda: an_object(model))


#: Right values by field.
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "action": actions,
    "action_taken": actions,
    "agent_id": visible,
    "approval_required": st.booleans(),
    "approval_url": st.none() | words,
    "canonical": visible,
    "confidence": confidences,
    "confidence_below": confidences,
    "content": visible,
    "count": counts,
    "created_at": times,
    "duplicates": ids,
    "error": st.none() | words,
    "expires_at": times,
    "filter": objects,
    "forgotten_ids": ids,
    "fresher_than_days": days,
    "fusion": fusions,
    "fusion_used": fusions,
    "hard_delete": st.booleans(),
    "hops": st.integers(0, 3),
    "id": words,
    "ids": ids,
    "k": st.integers(1, limits.RECALL_K_MAX),
    "latency_ms": counts,
    "matched_count": counts,
    "merged_count": counts,
    "metadata": objects,
    "no_recall_in_days": days,
    "older_than_days": days,
    "pending_approval": st.booleans(),
    "policy": objects_of(wire.ExpirePolicy),
    "query": visible,
    "reason": words,
    "results": st.lists(objects_of(wire.RecallHit), max_size=1),
    "score": st.floats(-1, 2).filter(lambda score: not score.is_integer()),
    "source": words,
    "source_store": words,
    "store": words,
    "stored_at": times,
    "stores": st.lists(words, max_size=2),
    "stores_queried": st.lists(words, max_size=2),
    "strategy": strategies,
    "strategy_used": strategies,
    "supporting": ids,
    "type": types,
    "types": st.lists(types, max_size=2),
    "user_id": visible,
}
OWN_VALUES: dict[tuple[type[BaseModel], str], st.SearchStrategy[Any]] = {
    (wire.ForgetResponse, "stores"): st.lists(objects_of(wire.StoreOutcome), max_size=1),
}
#: In characters.
LENGTHS = {
    "agent_id": limits.AGENT_ID_MAX,
    "canonical": limits.MEMORY_ID_MAX,
    "content": limits.CONTENT_MAX,
    "query": limits.QUERY_MAX,
    "reason": limits.REASON_MAX,
    "source": limits.SOURCE_MAX,
    "user_id": limits.USER_ID_MAX,
}


@st.composite
def an_object(draw: st.DrawFn, model: type[BaseModel]) -> dict[str, Any]:
    """Right values under the model's own names, and often one thing about them changed."""
    fields = {name: OWN_VALUES.get((model, name), VALUES[name]) for name in model.model_fields}
    needed = {name for name, field in model.model_fields.items() if field.is_required()}
    value: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {name: fields[name] for name in fields if name in needed},
            optional={name: fields[name] for name in fields if name not in needed},
        )
    )
    change = draw(st.sampled_from(["nothing", "missing", "junk"]))
    name = draw(st.sampled_from([*fields, "unknown"]))
    if change == "missing":
        value.pop(name, None)
    elif change == "junk":
        value[name] = draw(st.sampled_from(JUNK))
    return value


EXAMPLES: dict[str, dict[str, Any]] = {
    "operations/remember": {
        "agent_id": "a",
        "user_id": "u",
        "type": "semantic",
        "content": "Alice is allergic to peanuts",
        "metadata": {"tags": ["food"]},
        "confidence": 0.9,
        "source": "chat",
        "expires_at": NOW,
        "approval_required": True,
    },
    "operations/remember.response": {
        "id": "m1",
        "stored_at": NOW,
        "stores": ["sqlite-vec"],
        "pending_approval": False,
        "approval_url": None,
    },
    "operations/recall": {
        "agent_id": "a",
        "user_id": "u",
        "query": "allergies",
        "k": 5,
        "types": ["semantic"],
        "hops": 1,
        "fusion": "rrf",
        "filter": {"tags": ["food"]},
        "fresher_than_days": 30,
    },
    "operations/recall.response": {
        "results": [
            {
                "id": "m1",
                "type": "semantic",
                "content": "Alice is allergic to peanuts",
                "score": 0.03,
                "metadata": {},
                "created_at": NOW,
                "supporting": ["m2"],
                "source_store": "sqlite-vec",
            }
        ],
        "fusion_used": "rrf",
        "stores_queried": ["sqlite-vec"],
        "latency_ms": 12,
    },
    "operations/forget": {
        "agent_id": "a",
        "user_id": "u",
        "ids": ["m1"],
        "filter": {},
        "hard_delete": True,
        "reason": "asked to",
        "approval_required": False,
    },
    "operations/forget.response": {
        "forgotten_ids": ["m1"],
        "hard_delete": False,
        "stores": [{"store": "mem0", "count": 1, "error": None}],
        "pending_approval": False,
        "approval_url": None,
    },
    "operations/merge": {
        "agent_id": "a",
        "canonical": "Alice Smith",
        "duplicates": ["alice"],
        "strategy": "merge_content",
        "approval_required": False,
    },
    "operations/merge.response": {
        "canonical": "Alice Smith",
        "merged_count": 1,
        "strategy_used": "merge_content",
        "stores": ["sqlite-vec"],
        "pending_approval": False,
        "approval_url": None,
    },
    "operations/expire": {
        "agent_id": "a",
        "policy": {
            "older_than_days": 90,
            "type": "episodic",
            "confidence_below": 0.5,
            "no_recall_in_days": 30,
        },
        "action": "archive",
    },
    "operations/expire.response": {
        "matched_count": 3,
        "action_taken": "archive",
        "stores": ["sqlite-vec"],
    },
}


def variants(value: Any) -> Iterator[Any]:
    """The value with each of its parts in turn left out, or replaced by each piece of junk."""
    yield from JUNK
    if isinstance(value, dict):
        for key in [*value, "unknown"]:
            rest = {other: item for other, item in value.items() if other != key}
            yield rest
            yield from (rest | {key: item} for item in variants(value.get(key)))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from ([*value[:index], odd, *value[index + 1 :]] for odd in variants(item))


@pytest.mark.parametrize("name", MODELS)
def test_schema_and_model_agree_about_every_odd_part_of_an_example(name: str) -> None:
    example, validator = EXAMPLES[name], schemas.validator(name)
    assert list(validator.iter_errors(example)) == []
    assert model_accepts(MODELS[name], example)

    for variant in variants(example):
        assert validator.is_valid(variant) == model_accepts(MODELS[name], variant), variant


@pytest.mark.parametrize("field", LENGTHS)
@pytest.mark.parametrize("character", ["a", "é", "😀"])
def test_schema_and_model_count_characters_alike(field: str, character: str) -> None:
    for name in MODELS:
        if field not in EXAMPLES[name] or name.endswith(".response"):
            continue
        for excess in (0, 1):
            value = EXAMPLES[name] | {field: character * (LENGTHS[field] + excess)}
            assert schemas.validator(name).is_valid(value) == (not excess)
            assert model_accepts(MODELS[name], value) == (not excess)


@pytest.mark.parametrize("condition", EXAMPLES["operations/expire"]["policy"])
def test_schema_and_model_agree_about_a_policy_of_one_condition(condition: str) -> None:
    policy = EXAMPLES["operations/expire"]["policy"]
    validator = schemas.validator("operations/expire")

    for only in (policy[condition], None):
        request = {"agent_id": "a", "policy": {condition: only}}
        assert validator.is_valid(request) == (only is not None)
        assert model_accepts(wire.ExpireRequest, request) == (only is not None)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_schema_and_model_accept_the_same(name: str, data: st.DataObject) -> None:
    value = data.draw(an_object(MODELS[name]))

    assert schemas.validator(name).is_valid(value) == model_accepts(MODELS[name], value)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_a_model_writes_its_schema_accepts(name: str, data: st.DataObject) -> None:
    value = data.draw(an_object(MODELS[name]))
    assume(model_accepts(MODELS[name], value))
    written = json.loads(MODELS[name].model_validate(value).model_dump_json())

    assert list(schemas.validator(name).iter_errors(written)) == []


@pytest.mark.parametrize(
    ("reason", "request_"),
    [
        ("a size in bytes", {"metadata": {"a": "x" * limits.METADATA_MAX_BYTES}}),
        ("U+0000", {"content": "a\x00"}),
        ("half a surrogate pair", {"content": "a\ud800"}),
        ("characters that leave no mark, beyond white space", {"content": "\u200b"}),
        ("names that pass for others", {"agent_id": "b\u0456lling-bot"}),
        ("5.0 is an integer to JSON Schema", {"expires_at": float(NOW)}),
    ],
)
def test_the_models_alone_refuse_what_a_schema_cannot_say(
    reason: str, request_: dict[str, Any]
) -> None:
    value = A_REMEMBER | request_

    assert schemas.validator("operations/remember").is_valid(value)
    assert not model_accepts(wire.RememberRequest, value), reason


# --- records -------------------------------------------------------------------------------------

A_MACHINE = {
    "name": "book-flight",
    "initial": "searching",
    "states": ["searching", "cancelled"],
    "transitions": [{"trigger": "cancel", "source": "*", "dest": "cancelled"}],
    "current": "searching",
}
EXTRAS: dict[str, dict[str, Any]] = {
    "semantic": {},
    "episodic": {"event_time": NOW, "location": "Oslo", "participants": ["Alice"]},
    "emotional": {
        "sentiment": "mixed",
        "valence": -0.5,
        "arousal": 1,
        "emotion": "worry",
        "target": "flights",
    },
    "procedural": {"content": A_MACHINE},
}


def a_record_of(memory_type: str) -> dict[str, Any]:
    record = wire.MemoryRecord.model_validate(
        {
            "id": "m1",
            "agent_id": "a",
            "type": memory_type,
            "content": "c",
            "created_at": NOW,
            "updated_at": NOW,
        }
    )
    return record.model_dump(mode="json") | EXTRAS[memory_type]


@pytest.mark.parametrize("memory_type", TYPES)
def test_a_record_with_its_types_own_fields_is_valid(memory_type: str) -> None:
    assert (
        list(schemas.validator(f"types/{memory_type}").iter_errors(a_record_of(memory_type))) == []
    )


@pytest.mark.parametrize("memory_type", TYPES)
@pytest.mark.parametrize("other", TYPES)
def test_a_record_is_valid_as_its_own_type_only(memory_type: str, other: str) -> None:
    valid = schemas.validator(f"types/{other}").is_valid(a_record_of(memory_type))

    assert valid == (memory_type == other)


@pytest.mark.parametrize(
    ("memory_type", "fault"),
    [
        ("semantic", {"event_time": NOW}),
        ("semantic", {"content": ""}),
        ("semantic", {"confidence": 1.1}),
        ("semantic", {"created_at": None}),
        ("episodic", {"event_time": 1_716_700_000}),
        ("episodic", {"participants": "Alice"}),
        ("emotional", {"sentiment": "sad"}),
        ("emotional", {"valence": -1.1}),
        ("emotional", {"arousal": -0.1}),
        ("procedural", {"content": json.dumps(A_MACHINE)}),
        ("procedural", {"content": A_MACHINE | {"before": "os.system"}}),
        ("procedural", {"content": A_MACHINE | {"states": ["__class__", "searching"]}}),
        ("procedural", {"content": A_MACHINE | {"states": []}}),
    ],
)
def test_a_faulty_record_is_refused(memory_type: str, fault: dict[str, Any]) -> None:
    validator = schemas.validator(f"types/{memory_type}")

    assert not validator.is_valid(a_record_of(memory_type) | fault)


# --- governance ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("remember", A_REMEMBER),
        ("forget", {"agent_id": "a", "ids": ["m1"]}),
        ("merge", {"agent_id": "a", "canonical": "m1", "duplicates": ["m2"]}),
    ],
)
def test_a_review_holds_a_request_of_its_own_operation(
    operation: str, request_: dict[str, Any]
) -> None:
    review = {"operation": operation, "agent_id": "a", "request": request_, "diff": {"added": []}}
    validator = schemas.validator("governance/review")

    assert list(validator.iter_errors(review)) == []
    for other in {"remember", "forget", "merge", "recall"} - {operation}:
        assert not validator.is_valid(review | {"operation": other})


def test_a_decision_is_the_protocols_example_and_nothing_else() -> None:
    decision = {
        "approved": True,
        "reviewer": "user@example.com",
        "reviewed_at": NOW,
        "reason": "Looks correct; aligned with policy",
    }
    validator = schemas.validator("governance/review.response")

    assert list(validator.iter_errors(decision)) == []
    assert not validator.is_valid(decision | {"approved": "yes"})
    assert not validator.is_valid(decision | {"learned": True})
    assert not validator.is_valid({"approved": True})
