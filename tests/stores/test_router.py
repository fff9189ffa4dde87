"""Many stores as one, beyond what every store does.

``test_conformance.py`` puts routers to every scenario too.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from stores.breaker import Breaker
from stores.errors import StoreRefused, StoreUnavailable
from stores.fan_out import FanOut, Outcome
from stores.protocol import MemoryStore
from stores.records import MergeRefused, RecordStore
from stores.registry import open_replica
from stores.router import Member, Router, WritePolicy
from stores.testing import Fault, FlakyReplica, InMemoryReplica
from stores.wire import (
    ExpireRequest,
    ForgetRequest,
    MergeRequest,
    RecallRequest,
    RecallResponse,
    RememberRequest,
    RememberResponse,
)
from tests.stores.builders import EMBEDDER, NOW

SHORT_SECONDS = 0.05


class Down:
    """Nothing of it works."""

    capabilities = {"semantic", "episodic", "procedural", "emotional", "recall_tracking"}

    def __getattr__(self, name: str) -> Any:
        async def fail(*_: Any) -> Any:
            raise StoreUnavailable("down")

        return fail


def a_store(replica: Any = None) -> RecordStore:
    return RecordStore(replica or InMemoryReplica(), EMBEDDER, clock=lambda: NOW)


def a_router(*stores: Any, **options: Any) -> Router:
    members = [
        Member(name=name, store=store) for name, store in zip("abcdef", stores, strict=False)
    ]
    return Router(members, **options)


def remembering(content: str, **fields: Any) -> RememberRequest:
    request = {"agent_id": "agent", "type": "semantic", "content": content} | fields
    return RememberRequest(**request)


def recalling(query: str, **fields: Any) -> RecallRequest:
    return RecallRequest(agent_id="agent", query=query, **fields)


def forgetting(*ids: str, **fields: Any) -> ForgetRequest:
    return ForgetRequest(agent_id="agent", ids=list(ids), **fields)


async def recalled(store: MemoryStore, query: str) -> list[Any]:
    return [hit.content for hit in (await store.recall(recalling(query))).results]


def test_a_router_is_a_memory_store_of_what_its_children_can():
    router = a_router(a_store(), Down())
    assert isinstance(router, MemoryStore)
    assert router.capabilities == a_store().capabilities


@pytest.mark.parametrize("names", [[], ["a", "a"]])
def test_members_have_names_of_their_own(names: list[str]):
    with pytest.raises(ValueError, match="a name of its own"):
        Router([Member(name=name, store=a_store()) for name in names])


@pytest.mark.parametrize("pair", [("memory", "memory"), ("sqlite-vec", "pgvector")])
async def test_m01_one_write_is_one_memory_that_names_both_stores(
    pair: tuple[str, str], new_url: Callable[[str], str]
):
    replicas = [open_replica(new_url(kind), workspace="w", embedder=EMBEDDER) for kind in pair]
    router = a_router(*map(a_store, replicas))
    response = await router.remember(remembering("a red bicycle"))
    assert response.stores == ["a", "b"]
    (hit,) = (await router.recall(recalling("red bicycle"))).results
    assert (hit.id, hit.source_store, hit.stores) == (response.id, "a", ["a", "b"])
    assert hit.score == pytest.approx(2 / 61)
    forgotten = await router.forget(forgetting(hit.id, hard_delete=True))
    assert [(o.store, o.count) for o in forgotten.stores] == [("a", 1), ("b", 1)]
    assert await recalled(router, "red bicycle") == []
    for replica in replicas:
        assert (await replica.scan()).records == []
        await replica.close()


async def test_a_child_that_makes_ids_of_its_own_is_not_counted():
    class Headstrong(Down):
        async def remember(self, req: RememberRequest) -> RememberResponse:
            return RememberResponse(id="mine", stored_at=NOW, stores=["x"], pending_approval=False)

    router = a_router(a_store(), Headstrong())
    assert (await router.remember(remembering("x"))).stores == ["a"]
    with pytest.raises(StoreRefused, match="id of its own"):
        await a_router(Headstrong()).remember(remembering("x"))


async def test_while_one_store_answers_nothing_fails_and_what_failed_is_said():
    alive = a_store()
    router = a_router(Down(), alive)
    written = await router.remember(remembering("kept"))
    assert written.stores == ["b"]
    response = await router.recall(recalling("kept"))
    assert (response.stores_queried, len(response.results)) == (["b"], 1)
    assert [(a.store, a.outcome) for a in router.last_answers] == [
        ("a", Outcome.FAILED),
        ("b", Outcome.ANSWERED),
    ]
    health = await router.health()
    assert health["ok"]
    assert health["stores"]["a"] == {"ok": False, "error": "StoreUnavailable"}
    forgotten = await router.forget(forgetting(written.id))
    assert [(o.store, o.count, o.error) for o in forgotten.stores] == [
        ("a", 0, "StoreUnavailable"),
        ("b", 1, None),
    ]
    expire = ExpireRequest.model_validate({"agent_id": "agent", "policy": {"older_than_days": 1}})
    assert (await router.expire(expire)).stores == ["b"]


async def test_when_no_store_answers_each_is_named():
    with pytest.raises(StoreUnavailable, match="a: StoreUnavailable, b: StoreUnavailable"):
        await a_router(Down(), Down()).recall(recalling("x"))
    assert not (await a_router(Down()).health())["ok"]


async def test_a_hanging_store_costs_its_budget_only_and_then_rests():
    hanging = a_store(FlakyReplica(InMemoryReplica(), iter(lambda: Fault.HANG, None)))
    alive = a_store()
    router = Router(
        [
            Member(name="hangs", store=hanging, recall_seconds=SHORT_SECONDS),
            Member(name="alive", store=alive),
        ],
        fan_out=FanOut(new_breaker=lambda: Breaker(failures_to_open=2)),
    )
    await alive.remember(remembering("kept"))
    for _ in range(2):
        assert await recalled(router, "kept") == ["kept"]
        assert router.last_answers[0].outcome is Outcome.TIMED_OUT
    assert await recalled(router, "kept") == ["kept"]
    assert router.last_answers[0].outcome is Outcome.RESTING


async def test_a_request_that_cannot_be_done_is_the_caller_s_error():
    router = a_router(a_store(), a_store())
    with pytest.raises(ValueError, match=r"\$regex"):
        await router.recall(recalling("x", filter={"a": {"$regex": "b"}}))
    with pytest.raises(MergeRefused):
        await router.merge(MergeRequest(agent_id="agent", canonical="x", duplicates=["y"]))


async def test_primary_only_writes_go_to_the_first_and_forgets_to_all():
    first, second = a_store(), a_store()
    everywhere = await a_router(first, second).remember(remembering("everywhere"))
    router = a_router(first, second, writes=WritePolicy.PRIMARY_ONLY)
    assert (await router.remember(remembering("primary"))).stores == ["a"]
    assert "primary" not in await recalled(second, "primary")
    await router.forget(forgetting(everywhere.id))
    assert await recalled(second, "everywhere") == []
    with pytest.raises(StoreUnavailable):
        await a_router(Down(), second, writes=WritePolicy.PRIMARY_ONLY).remember(remembering("x"))


async def test_stores_that_cannot_do_something_are_left_out_of_it():
    class FactsOnly(Down):
        capabilities = {"semantic"}

    router = a_router(FactsOnly(), a_store())
    assert (await router.remember(remembering("x", type="episodic"))).stores == ["b"]
    assert [answer.store for answer in router.last_answers] == ["b"]
    with pytest.raises(StoreRefused, match="no store"):
        await a_router(FactsOnly()).remember(remembering("x", type="episodic"))


async def test_weights_count_for_weighted_fusion_only():
    heavy, light = a_store(), a_store()
    await heavy.remember(remembering("red bicycle lost", id="heavy"))
    await light.remember(remembering("red bicycle", id="light"))
    router = Router(
        [
            Member(name="light", store=light, weight=0.1),
            Member(name="heavy", store=heavy, weight=2.0),
        ]
    )

    async def first(fusion: str) -> str:
        return (await router.recall(recalling("red bicycle", fusion=fusion))).results[0].id

    assert [await first(fusion) for fusion in ("weighted", "max")] == ["heavy", "light"]


async def test_nested_routers_name_their_stores_by_path():
    inner = Router([Member(name="x", store=a_store()), Member(name="y", store=Down())])
    router = Router([Member(name="inner", store=inner), Member(name="z", store=a_store())])
    response = await router.remember(remembering("deep"))
    assert response.stores == ["inner/x", "z"]
    (hit,) = (await router.recall(recalling("deep"))).results
    assert (hit.id, hit.source_store, hit.stores) == (response.id, "inner/x", ["inner/x", "z"])
    forgotten = await router.forget(forgetting(response.id))
    assert [(o.store, o.count) for o in forgotten.stores] == [
        ("inner/x", 1),
        ("inner/y", 0),
        ("z", 1),
    ]


async def test_a_liar_cannot_outvote_two_that_agree():
    async def lie(req: RecallRequest) -> RecallResponse:
        hits = [
            {"id": f"lie{n}", "type": "semantic", "content": "lie", "score": 1.0}
            | {"created_at": NOW, "source_store": "x"}
            for n in range(req.k)
        ]
        return RecallResponse.model_validate(
            {"results": hits, "fusion_used": "rrf", "stores_queried": ["x"], "latency_ms": 0}
        )

    liar = Down()
    liar.recall = lie  # type: ignore[attr-defined]
    honest = [a_store(), a_store()]
    router = a_router(liar, *honest)
    for number in range(5):
        request = remembering(f"red bicycle {number}", id=f"true{number}")
        await asyncio.gather(*(store.remember(request) for store in honest))
    hits = (await router.recall(recalling("red bicycle", k=5))).results
    assert {hit.id for hit in hits} == {f"true{number}" for number in range(5)}


async def test_staged_memories_are_decided_everywhere():
    first, second = a_store(), a_store()
    router = a_router(first, second)
    staged = await router.remember(remembering("waits", approval_required=True))
    dropped = await router.remember(remembering("dropped", approval_required=True))
    assert (staged.pending_approval, staged.stores) == (True, [])
    await router.approve(staged.id)
    await router.reject(dropped.id)
    for store in (first, second):
        assert await recalled(store, "waits") == ["waits"]
    with pytest.raises(ValueError, match="not waiting"):
        await router.approve("unknown")
