"""What every replica promises, whatever is behind it."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest

from stores.fusion import NEIGHBOUR_GAP_MS
from stores.protocol import PENDING_APPROVAL, Replica, Scope, SearchResult
from stores.registry import open_replica
from stores.wire import MemoryType
from tests.stores.builders import EMBEDDER, NOW, a_state

AGENT = Scope(agent_id="agent")


@pytest.fixture
async def replica(store_url: Callable[[], str]) -> AsyncIterator[Replica]:
    replica = open_replica(store_url(), workspace="w", embedder=EMBEDDER)
    yield replica
    await replica.close()


async def search(replica: Replica, query: str, **options: Any) -> SearchResult:
    arguments: dict[str, Any] = {"limit": 10, "vector": EMBEDDER.embed([query])[0]} | options
    scope = arguments.pop("scope", AGENT)
    return await replica.search(scope, text=query, **arguments)


async def scores(replica: Replica, query: str, scope: Scope) -> dict[str, float]:
    return {c.id: c.score for c in (await search(replica, query, scope=scope)).candidates}


async def found(replica: Replica, query: str, **options: Any) -> list[str]:
    return [c.id for c in (await search(replica, query, **options)).candidates]


async def test_a_state_comes_back_as_it_was_put(replica: Replica):
    state = a_state(
        "a",
        "line\r\nZoë \U0001f600 e\u0301",
        user_id="u",
        metadata={"n": 12345678901234567890123, "deep": [{"x": None}], "f": 0.1},
        source="chat",
        expires_at=NOW + 5,
        version=3,
        state={"demoted_at": 7, "last_recalled_at": 8, "archived_at": 9, "deleted_at": 10},
    )
    await replica.put([state])
    (held,) = await replica.fetch(["a", "unknown"])
    assert held.record == state.record
    assert (held.version, held.deleted_at, held.archived_at) == (3, 10, 9)
    assert (held.demoted_at, held.last_recalled_at) == (7, 8)
    assert held.vector is not None
    assert held.vector.tolist() == state.vector.tolist()


async def test_what_is_dropped_is_gone_and_taken_again_at_any_version(replica: Replica):
    await replica.put([a_state("a", "harbour", version=5), a_state("b", "harbour", version=5)])
    await replica.erase({"b": 6})
    await replica.drop(["a", "b", "unknown"])
    assert (await replica.scan()).records == []
    assert await found(replica, "harbour") == []
    await replica.put([a_state("a", "station", version=1), a_state("b", "ferry", version=1)])
    assert await found(replica, "station", limit=1) == ["a"]
    assert await found(replica, "ferry", limit=1) == ["b"]


async def test_a_version_that_is_not_newer_is_ignored(replica: Replica):
    await replica.put([a_state("a", "second", version=2)])
    await replica.put([a_state("a", "first", version=1), a_state("b", "b")])
    await replica.put([a_state("a", "also second", version=2)])
    assert [s.record.content for s in await replica.fetch(["a"])] == ["second"]
    assert await found(replica, "b", limit=1) == ["b"]


async def test_a_newer_version_replaces_text_and_vector(replica: Replica):
    await replica.put([a_state("a", "apples"), a_state("b", "pears")])
    await replica.put([a_state("a", "zeppelins", version=2)])
    assert await found(replica, "zeppelins", limit=1) == ["a"]
    assert await found(replica, "apples", vector=None, within=["a"]) == ["a"]
    (only,) = (await search(replica, "apples", vector=None, within=["a"])).candidates
    assert only.score == 0


@pytest.mark.parametrize(
    "hidden", [{"deleted_at": PENDING_APPROVAL}, {"deleted_at": NOW}, {"archived_at": NOW}]
)
async def test_what_is_staged_forgotten_or_archived_is_held_and_not_found(
    replica: Replica, hidden: dict[str, int]
):
    await replica.put([a_state("a", "hidden words", state=hidden)])
    assert await found(replica, "hidden words") == []
    assert len(await replica.fetch(["a"])) == 1
    await replica.put([a_state("a", "hidden words", version=2)])
    assert await found(replica, "hidden words") == ["a"]
    await replica.put([a_state("a", "hidden words", version=3, state=hidden)])
    assert await found(replica, "hidden words") == []


async def test_an_erased_memory_is_gone_and_a_late_write_does_not_revive_it(replica: Replica):
    await replica.put([a_state("a", "secret", version=2), a_state("b", "kept")])
    await replica.erase({"a": 3, "unknown": 5})
    await replica.put([a_state("a", "secret", version=2), a_state("unknown", "late", version=4)])
    assert await replica.fetch(["a", "unknown"]) == []
    assert await found(replica, "secret") == ["b"]
    assert [s.record.id for s in (await replica.scan()).records] == ["b"]


async def test_an_erasure_older_than_what_is_held_is_ignored(replica: Replica):
    await replica.put([a_state("a", "written again", version=5)])
    await replica.erase({"a": 4})
    assert len(await replica.fetch(["a"])) == 1
    await replica.erase({"a": 5})
    assert await replica.fetch(["a"]) == []


async def test_scores_are_similarities_and_fall(replica: Replica):
    await replica.put([a_state("a", "red bicycle"), a_state("b", "red"), a_state("c", "trains")])
    candidates = (await search(replica, "red bicycle")).candidates
    assert candidates[0].id == "a"
    assert candidates[0].score == pytest.approx(1.0, abs=1e-5)
    falling = [candidate.score for candidate in candidates]
    assert falling == sorted(falling, reverse=True)
    assert all(0 <= score <= 1 for score in falling)


@pytest.mark.parametrize("vector", [None, EMBEDDER.embed(["anything"])[0]])
async def test_limit_is_reached_whenever_enough_is_there(replica: Replica, vector: Any):
    await replica.put([a_state(f"m{number}", f"note {number}") for number in range(9)])
    for limit, exhausted in ((1, False), (8, False), (9, True), (50, True)):
        result = await search(replica, "unrelated", limit=limit, vector=vector)
        assert len(result.candidates) == min(limit, 9)
        assert len({c.id for c in result.candidates}) == len(result.candidates)
        assert result.exhausted is exhausted


async def test_a_record_without_a_vector_is_found_by_its_words_and_offered_at_last(
    replica: Replica,
):
    await replica.put([a_state("a", "zeppelin", state={"vector": None}), a_state("b", "train")])
    assert (await found(replica, "zeppelin"))[0] in ("a", "b")
    assert await found(replica, "zeppelin", vector=None) == ["a", "b"]
    assert set(await found(replica, "nothing of it")) == {"a", "b"}


async def test_within_and_exclude_are_exact(replica: Replica):
    noise = [a_state(f"n{number:03}", "apple pie") for number in range(300)]
    await replica.put([*noise, a_state("far", "trains leave at noon")])
    assert await found(replica, "apple pie", within=["far", "unknown"]) == ["far"]
    assert await found(replica, "apple pie", within=[]) == []
    everything_else = [state.record.id for state in noise]
    assert await found(replica, "apple pie", exclude=everything_else) == ["far"]
    result = await search(replica, "apple pie", within=["far", "n001"], exclude=["n001"])
    assert [c.id for c in result.candidates] == ["far"]
    assert result.exhausted


async def test_an_agent_s_search_sees_that_agent_only(replica: Replica):
    names = ["agent", "Agent", "agent ", "agent-2", "a%", "a_ent"]
    await replica.put([a_state(f"of {name}", "apple pie", agent_id=name) for name in names])
    everything = [f"of {name}" for name in names]
    for name in names:
        scope = Scope(agent_id=name)
        assert await found(replica, "apple pie", scope=scope) == [f"of {name}"]
        assert await found(replica, "nothing alike", scope=scope) == [f"of {name}"]
        assert await found(replica, "pie", scope=scope, vector=None) == [f"of {name}"]
        assert await found(replica, "pie", scope=scope, within=everything) == [f"of {name}"]


async def test_a_user_s_search_sees_that_user_only(replica: Replica):
    await replica.put(
        [
            a_state("ann", "apple pie", user_id="ann"),
            a_state("bob", "apple pie", user_id="bob"),
            a_state("none", "apple pie"),
        ]
    )
    ann = Scope(agent_id="agent", user_id="ann")
    assert await found(replica, "apple pie", scope=ann) == ["ann"]
    assert await found(replica, "apple pie", scope=ann, within=["ann", "bob"]) == ["ann"]
    assert set(await found(replica, "apple pie")) == {"ann", "bob", "none"}


async def test_an_episode_is_raised_by_the_good_match_beside_it(replica: Replica):
    query = "where is the bicycle"
    said: list[tuple[str, dict[str, Any]]] = [
        ("where is the bicycle", {"created_at": NOW}),
        ("behind a shed", {"created_at": NOW + 1}),
        ("under some stairs", {"created_at": NOW + 2 * NEIGHBOUR_GAP_MS}),
        ("over that hill", {"created_at": NOW + 1, "user_id": "bob"}),
    ]
    episodes, facts = Scope(agent_id="episodes"), Scope(agent_id="facts")
    for scope, kind in ((episodes, MemoryType.EPISODIC), (facts, MemoryType.SEMANTIC)):
        agent = scope.agent_id
        await replica.put(
            [a_state(f"{agent} {c}", c, agent_id=agent, type=kind, **f) for c, f in said]
        )
    raised, alone = await scores(replica, query, episodes), await scores(replica, query, facts)
    assert [
        content
        for content, _ in said
        if raised[f"episodes {content}"] > alone[f"facts {content}"] + 1e-6
    ] == ["behind a shed"]


async def test_episodes_of_one_session_are_neighbours_whatever_lies_between(replica: Replica):
    asked, other = np.eye(2, EMBEDDER.dimensions, dtype=np.float32)

    async def say(memory_id: str, session: int | str | None, at: int, **state: Any) -> None:
        metadata = {} if session is None else {"session": session}
        kind = MemoryType.EPISODIC
        vector = {"vector": asked if memory_id == "asked" else other}
        await replica.put(
            [a_state(memory_id, type=kind, metadata=metadata, created_at=NOW + at, state=vector)]
        )

    await say("asked", 1, 0)
    await say("of another session", "1", 1)
    await say("its next", "1", 2)
    await say("long after", None, 5 * NEIGHBOUR_GAP_MS)
    await say("answer", 1, 9 * NEIGHBOUR_GAP_MS)
    await say("second answer", 1, 99 * NEIGHBOUR_GAP_MS)
    result = await search(replica, "?!", vector=asked)
    score = {c.id: c.score for c in result.candidates}
    assert score["asked"] == pytest.approx(1.0)
    assert score["answer"] > score["second answer"] > 0.5 + 1e-6
    # Where a session begins, what was said just before counts.
    assert score["of another session"] == pytest.approx(score["answer"])
    assert score["long after"] == pytest.approx(0.5)


async def test_what_others_wrote_moves_no_ranking(replica: Replica):
    said = ["red bicycle", "apple pie", "trains leave at noon", "a red apple", "the noon train"]
    await replica.put([a_state(f"m{at}", content) for at, content in enumerate(said)])
    alone = (await search(replica, "red apple at noon", vector=None)).candidates
    await replica.put([a_state(f"n{at}", "red red noon", agent_id=f"a{at}") for at in range(60)])
    crowded = (await search(replica, "red apple at noon", vector=None)).candidates
    assert [c.id for c in crowded] == [c.id for c in alone]
    assert [c.score for c in crowded] == pytest.approx([c.score for c in alone], abs=0.01)


async def test_a_day_is_found_however_it_is_written(replica: Replica):
    days = [a_state(f"d{day}", f"[{day} May 2023] we met and talked") for day in range(1, 29)]
    await replica.put([*days, a_state("iso", "2024-02-29: we met and talked")])
    for query, memory_id in (
        ("what was on 2023-05-17", "d17"),
        ("the talk of May 9th, 2023", "d9"),
        ("29 February 2024", "iso"),
    ):
        assert (await found(replica, query, vector=None))[0] == memory_id


async def test_rows_of_other_users_do_not_starve_a_user_s_search(replica: Replica):
    noise = [a_state(f"n{number}", "apple pie", user_id="bob") for number in range(300)]
    await replica.put([*noise, a_state("far", "trains leave at noon", user_id="ann")])
    result = await search(replica, "apple pie", scope=Scope(agent_id="agent", user_id="ann"))
    assert [(c.id, c.score > 0) for c in result.candidates] == [("far", True)]


async def test_excluded_neighbours_do_not_starve_a_search(replica: Replica):
    near = [a_state(f"n{number}", "apple pie") for number in range(300)]
    await replica.put([*near, a_state("far", "trains leave at noon")])
    result = await search(replica, "apple pie", exclude=[s.record.id for s in near])
    assert [(c.id, c.score > 0) for c in result.candidates] == [("far", True)]


async def test_a_scan_shows_everything_once_in_order(replica: Replica):
    states = [a_state(f"m{number}", "x") for number in range(7)]
    states.append(a_state("p", "staged", state={"deleted_at": PENDING_APPROVAL}))
    await replica.put(states)
    seen, cursor = [], None
    while True:
        page = await replica.scan(cursor=cursor, limit=3)
        seen += [state.record.id for state in page.records]
        if (cursor := page.cursor) is None:
            break
    assert seen == sorted(state.record.id for state in states)


async def test_a_healthy_replica_says_so(replica: Replica):
    assert (await replica.health()).ok
    assert isinstance(replica, Replica)
