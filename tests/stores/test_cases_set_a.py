"""Cases of set A that concern stores, on each of them and on routers. M01: ``test_router.py``."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from pydantic import ValidationError

from stores.protocol import Replica
from stores.records import RecordStore
from stores.registry import open_replica
from stores.testing.session import AGENT, Session, StoreFactory
from stores.wire import RecallRequest, RememberRequest
from tests.stores.builders import EMBEDDER, NOW, a_state


@pytest.fixture
async def session(new_store: StoreFactory) -> AsyncIterator[Session]:
    async with new_store() as under_test:
        yield Session(under_test)


async def test_c03_a_nul_spoils_its_own_item_only(session: Session):
    stored = []
    for content in ("ok one", "bad\0two", "ok three"):
        try:
            stored.append(await session.remember(content))
        except ValidationError:
            continue
    assert len(stored) == 2
    assert sorted(await session.recall("ok")) == ["ok one", "ok three"]
    refused: list[dict[str, Any]] = [
        {"metadata": {"k\0": "v"}},
        {"metadata": {"k": "v\0"}},
        {"user_id": "u\0"},
        {"agent_id": "a\0"},
    ]
    for fields in refused:
        with pytest.raises(ValidationError):
            RememberRequest(**({"agent_id": AGENT, "type": "semantic", "content": "x"} | fields))
    with pytest.raises(ValidationError):
        RecallRequest(agent_id=AGENT, query="a\0b")


async def test_c11_a_scope_is_no_pattern(session: Session):
    names = ["acme", "acme-corp", "ac_e", "a%", "ACME", "acme ", "acme/x"]
    for name in names:
        await session.remember(f"secret of [{name}]", agent_id=name)
        await session.remember(f"secret of user [{name}]", user_id=name)
    for name in names:
        assert await session.recall("secret", agent_id=name) == [f"secret of [{name}]"]
        assert await session.recall("secret", user_id=name) == [f"secret of user [{name}]"]


@pytest.mark.parametrize("fusion", ["rrf", "max", "weighted"])
async def test_c17_what_was_asked_for_word_by_word_comes_first(session: Session, fusion: str):
    rows = ["the cat sleeps all day", "a red bicycle leans there", "trains leave at noon"]
    ids = [await session.remember(row) for row in rows]
    twin = await session.remember(rows[1])
    hits = await session.hits(rows[1], fusion=fusion)
    assert {hits[0].id, hits[1].id} == {ids[1], twin}
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(abs(score) < 10 for score in scores)


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"priority": {"$gte": 4}}, {"4", "5"}),
    ({"priority": {"$in": [1, 5]}}, {"1", "5"}),
    ({"priority": {"$not": {"$lt": 5}}}, {"5"}),
    ({"tags": {"$contains": "b"}}, {"1", "2"}),
    ({"tags": ["a", "b"]}, {"1"}),
    ({"a.b": 1}, {"3", "4"}),
    ({"flag": True}, {"5"}),
    ({"nothing": {"$eq": None}}, {"2"}),
]


async def test_c23_operators_mean_the_same_on_every_store(session: Session):
    rows: list[dict[str, Any]] = [
        {"priority": 1, "tags": ["a", "b"], "flag": 1},
        {"priority": 2, "tags": ["b"], "nothing": None},
        {"priority": 3, "a": {"b": 1}},
        {"priority": 4, "a.b": 1, "flag": "true"},
        {"priority": 5, "flag": True},
    ]
    for row in rows:
        await session.remember(f"{row['priority']}", metadata=row)
    for condition, expected in FILTERS:
        assert set(await session.recall("row", filter=condition)) == expected, condition
    for unknown in ({"priority": {"$regex": "1"}}, {"$where": "1"}, {"priority": {"$near": 1}}):
        with pytest.raises(ValueError, match=r"\$(regex|where|near)"):
            await session.recall("row", filter=unknown)


async def test_c25_punctuation_kills_no_leg(session: Session):
    text = "ticket POL-358 for O'Hare"
    await session.remember(text)
    for number in range(20):
        await session.remember(f"something else entirely, number {number}")
    for query in ("POL-358", "O'Hare"):
        assert await session.recall(query, k=1) == [text]
    syntax = ['"unbalanced', "a AND (", "title:x", "*", "NEAR(a b)", "-ohare", "^x", '"' * 5_000]
    syntax += ["pol & !358", "<->", "pol:*", "'; --", "\\", "%_"]
    for query in syntax:
        assert len(await session.recall(query, k=5)) == 5


async def test_c15_many_near_twins_starve_nobody(store_url: Callable[[], str]):
    replica: Replica = open_replica(store_url(), workspace="w", embedder=EMBEDDER)
    gone = {"deleted_at": NOW - 1}
    await replica.put(
        [a_state(f"n{at}", f"apple pie {at % 50}", agent_id="noisy") for at in range(5_000)]
    )
    await replica.put([a_state(f"g{at}", "apple pie", state=gone) for at in range(5_000)])
    mine = [a_state(f"m{at}", f"apple pie of mine {at}") for at in range(4)]
    await replica.put([*mine, a_state("m4", "apple pie rare", metadata={"rare": True})])
    store = RecordStore(replica, EMBEDDER, clock=lambda: NOW)
    asked = RecallRequest(agent_id="agent", query="apple pie", k=5)
    assert {hit.id for hit in (await store.recall(asked)).results} == {f"m{n}" for n in range(5)}
    rare = asked.model_copy(update={"filter": {"rare": True}})
    assert [hit.id for hit in (await store.recall(rare)).results] == ["m4"]
    await replica.close()
