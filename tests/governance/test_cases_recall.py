"""Set A, real failures of systems like ours: what a recall finds, in which order, and whose.

C07, C13 and C19 are in test_cases_set_a.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from benchmarks import bulk
from benchmarks.bulk import Written
from governance import embedding, stores_runtime
from governance.clock import now_ms
from tests.profiles import PRIMARY
from tests.world import World


class SameForAll:
    """Every text has the same vector: whatever is found, the words found it."""

    model_id = "same-for-all"
    dimensions = 8

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.full((len(texts), 8), 8**-0.5, dtype=np.float32)


@pytest.fixture
def words_only(fast_world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world in which vectors say nothing."""
    stores_runtime.close()
    monkeypatch.setattr(embedding, "open_embedder", lambda name: SameForAll())
    embedding.embedder.cache_clear()
    return fast_world


UNSPACED = {
    "東京タワー": "会議は東京タワーの近くで行う",
    "서울역": "내일은 서울역에서 만나자",
    "รถไฟ": "พรุ่งนี้เราจะนั่งรถไฟไปเชียงใหม่",
    "build-77": "重跑build-77后再看结果",
}


def test_c01_a_word_inside_an_unspaced_sentence_is_found_by_words_alone(words_only: World) -> None:
    for other in ("明日は雨が降る", "오늘은 비가 온다", "วันนี้ฝนตก", "build-78 passed"):
        words_only.remembered(other)
    for sentence in UNSPACED.values():
        words_only.remembered(sentence)
    words_only.remembered("the last one")
    assert {word: words_only.recall(word, k=1) for word in UNSPACED} == {
        word: [sentence] for word, sentence in UNSPACED.items()
    }


def test_c25_punctuation_in_a_question_finds_what_it_is_part_of(words_only: World) -> None:
    for other in ("an unrelated remark", "ticket POL 9"):
        words_only.remembered(other)
    words_only.remembered("ticket POL-358 for O'Hare")
    words_only.remembered("the last one")
    for query in ("POL-358", "O'Hare"):
        assert words_only.recall(query, k=1) == ["ticket POL-358 for O'Hare"]


SYNTAX = ['"unbalanced', "a AND (", "title:x", "*", "NEAR(a b)", "-ohare", "^x", "'; DROP TABLE x"]


def test_c25_punctuation_is_no_search_syntax(world: World) -> None:
    world.remembered("ticket POL-358 for O'Hare")
    for query in (*SYNTAX, '"' * 5_000):
        request = {"agent_id": "concierge", "query": query}
        answer = world.post("/v0/recall", request).json()
        assert [hit["content"] for hit in answer["results"]] == ["ticket POL-358 for O'Hare"]
        assert answer["stores_queried"] == [PRIMARY]  # which did not fail over it


NAMES = ["acme", "acme-corp", "ac_e", "a%", "ACME", "acme ", "acme/x", "acme*", "%"]


def test_c11_an_agents_name_is_no_pattern_and_no_prefix(world: World) -> None:
    for name in NAMES:
        world.remembered(f"secret of [{name}]", agent_id=name)
    for name in NAMES:
        assert world.recall("secret", agent_id=name, k=100) == [f"secret of [{name}]"]
        assert world.recall("secret", agent_id=name, filter={"type": "semantic"}, k=100) == [
            f"secret of [{name}]"
        ]
    # What a forget by filter takes counts the agent's own and nothing else.
    for name in NAMES:
        answer = world.forget(agent_id=name, filter={"type": "semantic"}).json()
        assert len(answer["forgotten_ids"]) == 1
        assert world.recall("secret", agent_id=name) == []


def test_c11_a_users_name_is_no_pattern_and_no_prefix(world: World) -> None:
    for name in NAMES:
        world.remembered(f"secret of [{name}]", user_id=name)
    for name in NAMES:
        assert world.recall("secret", user_id=name, k=100) == [f"secret of [{name}]"]
    assert world.recall("secret", user_id="ac", k=100) == []
    assert len(world.recall("secret", k=100)) == len(NAMES)


def near_twins(count: int, **fields: Any) -> list[Written]:
    kind = f"{fields.get('agent_id', '')}-{fields.get('state', '')}"
    return [
        Written(
            **{
                "id": f"{kind}-{number}",
                "agent_id": "concierge",
                "content": f"apple pie {number % 50}",
                "created_at": now_ms(),
                **fields,
            }
        )
        for number in range(count)
    ]


def test_c15_near_twins_of_others_and_forgotten_ones_leave_the_k_of_a_small_agent(
    world: World,
) -> None:
    # A thousand each, here; benchmarks/random_worlds.py asks among ten thousand.
    bulk.write(world.workspace, near_twins(1_000, agent_id="noisy"), now_ms=now_ms())
    bulk.write(world.workspace, near_twins(1_000, state="forgotten"), now_ms=now_ms())
    mine = [f"apple pie of mine {number}" for number in range(5)]
    for number, content in enumerate(mine):
        world.remembered(content, metadata={"number": number})
    assert sorted(world.recall("apple pie", k=5)) == mine
    assert world.recall("apple pie", k=5, filter={"number": 3}) == [mine[3]]


def test_m09_rows_of_others_and_forgotten_rows_starve_no_recall(fast_world: World) -> None:
    world = fast_world
    bulk.write(world.workspace, near_twins(300, agent_id="noisy"), now_ms=now_ms())
    world.remembered("apple pie of mine")
    assert world.recall("apple pie", k=1) == ["apple pie of mine"]
    gone = [world.remembered(f"apple pie {number}") for number in range(100)]
    world.forget(ids=gone)
    assert world.recall("apple pie", k=5) == ["apple pie of mine"]


def test_c17_higher_is_better_and_the_same_words_come_first(world: World) -> None:
    for content in ("the cat sleeps", "a red bicycle leans there", "trains leave at noon"):
        world.remembered(content)
    world.remembered("a red bicycle leans there")
    for fusion in ("rrf", "max", "weighted"):
        hits = world.recall_hits("a red bicycle leans there", fusion=fusion)
        assert [hit["content"] for hit in hits[:2]] == ["a red bicycle leans there"] * 2
        scores = [hit["score"] for hit in hits]
        assert len(scores) == 4
        assert scores == sorted(scores, reverse=True)
        assert min(scores[:2]) > max(scores[2:])


ROWS: list[dict[str, Any]] = [
    {"name": "1", "priority": 1, "tags": ["red"], "flag": True},
    {"name": "2", "priority": 2, "tags": ["red", "blue"], "flag": False},
    {"name": "3", "priority": 3, "tags": [], "a": {"b": 1}},
    {"name": "4", "priority": 4, "a.b": 1, "note": None},
    {"name": "5", "priority": 5, "a.b": 2, "a": {"b": 1}, "flag": 1},
]


MEANINGS: list[tuple[dict[str, Any], str]] = [
    ({"priority": 3}, "3"),
    ({"priority": "3"}, ""),
    ({"priority": {"$gte": 4}}, "45"),
    ({"priority": {"$gt": 1, "$lt": 4}}, "23"),
    ({"priority": {"$in": [1, 5, 9]}}, "15"),
    ({"priority": {"$nin": [1, 5]}}, "234"),
    ({"priority": {"$ne": 1}}, "2345"),
    ({"$not": {"priority": {"$lte": 3}}}, "45"),
    ({"tags": {"$contains": "red"}}, "12"),
    ({"flag": True}, "1"),
    ({"flag": False}, "2"),
    ({"flag": {"$exists": False}}, "34"),
    ({"note": {"$eq": None}}, "4"),
    ({"a.b": 1}, "34"),  # of the fifth the literal key counts, and it is 2
    ({"$or": [{"priority": 1}, {"a.b": 2}]}, "15"),
    ({"$and": [{"priority": {"$gt": 1}}, {"tags": {"$contains": "red"}}]}, "2"),
    ({"type": "semantic", "priority": 2}, "2"),
    ({"type": "episodic"}, ""),
]


def test_c23_a_filter_means_what_is_documented(fast_world: World) -> None:
    for row in ROWS:
        fast_world.remembered(row["name"], metadata=row)
    for raw, names in MEANINGS:
        assert sorted(fast_world.recall("row", filter=raw, k=10)) == list(names), raw


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"priority": {"$regex": "1"}}, "$regex"),
    ({"priority": {"gte": 1, "$gte": 1}}, "gte"),
    ({"$nor": [{"priority": 1}]}, "$nor"),
    ({"priority": {"$in": 1}}, "$in"),
    ({"$or": []}, "$or"),
    ({"priority": None}, "priority"),
]


def test_c23_anything_else_is_refused_by_name_and_never_wider(fast_world: World) -> None:
    fast_world.remembered("row", metadata=ROWS[0])
    for raw, named in REFUSED:
        request = {"agent_id": "concierge", "query": "row", "filter": raw}
        for answer in (fast_world.post("/v0/recall", request), fast_world.forget(filter=raw)):
            assert (answer.status_code, answer.json()["code"]) == (422, "filter_invalid"), raw
            assert named in answer.json()["detail"]
    assert fast_world.recall("row") == ["row"]
