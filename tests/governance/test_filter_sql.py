"""SQL narrows, the evaluator decides: together they answer what the evaluator alone would."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from governance import access, audit, ledger, sealing, walls
from governance.embedding import EmbeddedText
from governance.execution import write_sync
from governance.filter_sql import narrowing
from governance.ids import new_id
from governance.models import Memory, OperationKind, OperationStatus
from stores import filters
from stores.testing import HashEmbedder
from stores.wire import RememberRequest

WORDS = ["red", "Red", 'qu"ote', "per%cent", "under_score", "ö", "", "5", "true"]
PLAIN = st.one_of(
    st.sampled_from(WORDS), st.integers(-3, 6), st.sampled_from([0.5, 5.0]), st.booleans()
)
PATHS = [
    "type",
    "user_id",
    "source",
    "confidence",
    "created_at",
    "expires_at",
    "colour",
    "a.b",
    "tags",
]


def operators() -> st.SearchStrategy[Any]:
    numbers_or_words = st.one_of(st.integers(-3, 10**13), st.sampled_from(["red", "semantic"]))
    return st.one_of(
        PLAIN,
        st.sampled_from(["semantic", "episodic"]),
        st.builds(lambda op, v: {op: v}, st.sampled_from(["$eq", "$ne", "$contains"]), PLAIN),
        st.builds(
            lambda op, v: {op: v}, st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), numbers_or_words
        ),
        st.builds(
            lambda op, v: {op: v}, st.sampled_from(["$in", "$nin"]), st.lists(PLAIN, min_size=1)
        ),
        st.builds(lambda v: {"$exists": v}, st.booleans()),
    )


CONDITIONS = st.recursive(
    st.dictionaries(st.sampled_from(PATHS), operators(), min_size=1, max_size=2),
    lambda inner: st.one_of(
        st.builds(lambda parts: {"$or": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda parts: {"$and": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda part: {"$not": part}, inner),
    ),
    max_leaves=4,
)


@pytest.fixture
def memories(transactional_db: None) -> None:
    workspace = access.create_workspace(slug="filters", name="Filters", now_ms=0)
    vector = HashEmbedder().embed(["x"])[0]

    def make(number: int) -> None:
        key = sealing.new_data_key(workspace.pk)
        walls.enter(workspace.pk)
        word = WORDS[number % len(WORDS)]
        request = RememberRequest.model_validate(
            {
                "agent_id": "a",
                "type": ["semantic", "episodic"][number % 2],
                "user_id": ["red", "5", None][number % 3],
                "source": word or None,
                "content": "x",
                "confidence": [0.5, 1.0][number % 2],
                "expires_at": 10**12 + number if number % 4 else None,
                "created_at": 10**11 + number,
                "metadata": {
                    "colour": word,
                    "a": {"b": number % 5},
                    "tags": [word, number],
                    "a.b": [True, 5.0, "x"][number % 3],
                },
            }
        )
        operation = ledger.record_operation(
            workspace_id=workspace.pk,
            kind=OperationKind.REMEMBER,
            status=OperationStatus.APPLIED,
            agent_id="a",
            user_id=None,
            request={},
            key=key,
            api_key_id=None,
            proposer_id=None,
            request_id="",
            now_ms=1,
        )
        change = ledger.Change(
            action="memory.remembered",
            actor=audit.Actor.system("test"),
            now_ms=1,
            operation=operation,
        )
        text = EmbeddedText(model_id="hash", vector=vector)
        ledger.create(change, request, memory_id=new_id(), key=key, text=text, staged=False)

    for number in range(36):
        write_sync(make, number)


@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(raw=CONDITIONS)
def test_narrowing_never_loses_a_match(memories: None, raw: dict[str, Any]) -> None:
    condition = filters.parse(raw)
    matching = {m.pk for m in Memory.objects.all() if filters.matches(condition, m.as_record())}
    narrowed = {m.pk for m in Memory.objects.filter(narrowing(condition))}
    assert matching <= narrowed


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_found_however_json_writes_it(memories: None, word: str) -> None:
    condition = filters.parse({"colour": word})
    narrowed = Memory.objects.filter(narrowing(condition))
    assert sum(filters.matches(condition, memory.as_record()) for memory in narrowed) == 4


def test_it_narrows_where_it_can(memories: None) -> None:
    for raw in ({"type": "semantic"}, {"colour": "red"}, {"created_at": {"$lt": 10**11 + 9}}):
        narrowed = Memory.objects.filter(narrowing(filters.parse(raw))).count()
        assert 0 < narrowed < 36
