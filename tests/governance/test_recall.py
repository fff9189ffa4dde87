"""Stores rank, the ledger answers."""

from collections.abc import Collection, Sequence

import pytest
from pytest_django.fixtures import Settings

from governance import execution, outbox, stores_runtime
from governance.clock import now_ms
from governance.models import Delivery
from stores.errors import StoreUnavailable
from stores.protocol import Candidate, ReplicaRecord, Scope, SearchResult, Vector
from stores.testing import InMemoryReplica
from tests.world import World


class LyingReplica(InMemoryReplica):
    """Offers ids it should not: another's, a pending one, a forgotten one, an invented one."""

    lies: tuple[str, ...] = ()

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
        honest = await super().search(
            scope, text=text, vector=vector, limit=limit, within=within, exclude=exclude
        )
        lies = [Candidate(id=lie, score=1.0) for lie in self.lies]
        return SearchResult(candidates=[*lies, *honest.candidates], exhausted=honest.exhausted)


class DeafReplica(InMemoryReplica):
    """Takes nothing and answers nothing."""

    async def put(self, records: object) -> None:
        raise StoreUnavailable("down")

    async def search(self, *_: object, **__: object) -> SearchResult:
        raise StoreUnavailable("down")


class FullReplica(InMemoryReplica):
    """Takes no more once it is full, and still answers."""

    is_full = False

    async def put(self, records: Sequence[ReplicaRecord]) -> None:
        if self.is_full:
            raise StoreUnavailable("full")
        await super().put(records)


def open_as(monkeypatch: pytest.MonkeyPatch, kind: type[InMemoryReplica]) -> None:
    monkeypatch.setattr(
        stores_runtime,
        "open_replica",
        lambda url, *, workspace, embedder: kind(),
    )


def test_a_lying_store_can_neither_inject_nor_leak_nor_resurrect(
    fast_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = fast_world
    open_as(monkeypatch, LyingReplica)
    other = World.create("other")
    foreign = other.remembered("the other tenant's secret")
    forgotten = world.remembered("what was forgotten")
    world.forget(ids=[forgotten])
    pending = world.remember("what still waits", approval_required=True).json()["id"]
    expired = world.remembered("what ran out", expires_at=now_ms() - 1)
    another_agent = world.remembered("of another agent", agent_id="somebody-else")
    own = world.remembered("what is mine")
    monkeypatch.setattr(
        LyingReplica, "lies", (foreign, forgotten, pending, expired, another_agent, "invented")
    )
    assert world.recall("what is there?") == ["what is mine"]
    (hit,) = world.recall_hits("what is there?")
    assert hit["id"] == own


def test_more_than_may_be_named_is_ranked_by_the_store_and_not_cut(
    fast_world: World, settings: Settings
) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"within_limit": 2})
    contents = [f"{word} tea" for word in ("apple", "red", "green", "noon", "oslo")]
    for content in contents:
        fast_world.remembered(content)
    stores_runtime.wait(outbox.flush())  # the ledger has nothing left to add
    for content in contents:
        assert fast_world.recall(content, k=1) == [content]


def test_a_write_is_recallable_though_the_store_is_down_and_arrives_there_later(
    fast_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = fast_world
    open_as(monkeypatch, DeafReplica)
    response = world.remember("Alice likes tea")
    assert response.json()["stores"] == []
    (hit,) = world.recall_hits("what does Alice like?")
    assert (hit["content"], hit["source_store"]) == ("Alice likes tea", "ledger")
    assert Delivery.objects.get().last_error == "StoreUnavailable"

    stores_runtime.close()
    open_as(monkeypatch, InMemoryReplica)
    assert outbox.deliver_due(now_ms=now_ms() + 60_000) == 1
    assert Delivery.objects.get().delivered_version == 1
    (hit,) = world.recall_hits("what does Alice like?")
    assert hit["source_store"] == "memory"


@pytest.mark.parametrize("fusion", ["rrf", "max", "weighted"])
def test_what_no_store_holds_yet_takes_the_place_that_is_due_to_it(
    fast_world: World, monkeypatch: pytest.MonkeyPatch, fusion: str
) -> None:
    world = fast_world
    open_as(monkeypatch, FullReplica)
    world.remembered("Paris is the capital of France")
    world.remembered("Alice likes the cheeses of France")
    monkeypatch.setattr(FullReplica, "is_full", True)
    world.remembered("my bicycle has a flat tyre")
    world.remembered("the capital of France is expensive")
    hits = world.recall_hits("capital of France", fusion=fusion, k=4)
    assert {hit["content"] for hit in hits[:2]} == {
        "Paris is the capital of France",
        "the capital of France is expensive",
    }
    assert hits[3]["content"] == "my bicycle has a flat tyre"
    assert hits[3]["source_store"] == "ledger"


def test_recall_tells_which_stores_answered(
    fast_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = fast_world
    open_as(monkeypatch, DeafReplica)
    body = {"agent_id": "concierge", "query": "x"}
    assert world.post("/v0/recall", body).json()["stores_queried"] == []


def test_k_visible_matches_are_found_among_noisy_neighbours(fast_world: World) -> None:
    world = fast_world
    for number in range(60):
        world.remembered(f"apple pie {number}", agent_id="noisy")
    gone = [world.remembered(f"apple pie gone {number}") for number in range(60)]
    world.forget(ids=gone)
    kept = {world.remembered(f"apple pie kept {number}") for number in range(5)}
    assert {hit["id"] for hit in world.recall_hits("apple pie", k=5)} == kept


def test_however_many_demoted_memories_match_better_they_hide_no_lesser_match(
    fast_world: World,
) -> None:
    world = fast_world
    for _ in range(60):
        world.remembered("red bicycle", confidence=0.1)
    world.remembered("a bicycle")
    unsure = {"agent_id": "concierge", "policy": {"confidence_below": 0.5}, "action": "demote"}
    assert world.post("/v0/expire", unsure).json()["matched_count"] == 60
    assert world.recall("red bicycle", k=1) == ["a bicycle"]


def test_recall_narrows_by_user_type_and_freshness(world: World) -> None:
    world.remembered("Alice likes tea", user_id="alice")
    world.remembered("Bob likes tea", user_id="bob", type="episodic")
    assert world.recall("who likes tea?", user_id="alice") == ["Alice likes tea"]
    assert world.recall("who likes tea?", types=["episodic"]) == ["Bob likes tea"]
    assert len(world.recall("who likes tea?", fresher_than_days=1)) == 2
    assert world.recall("who likes tea?", filter={"type": "semantic"}) == ["Alice likes tea"]


def test_a_filter_that_cannot_be_read_is_refused_and_named(world: World) -> None:
    body = {"agent_id": "concierge", "query": "x", "filter": {"a": {"$near": 1}}}
    response = world.post("/v0/recall", body)
    assert response.status_code == 422
    assert "$near" in response.json()["detail"]


def test_scores_are_finite_and_do_not_increase(world: World) -> None:
    for text in ("tea with milk", "tea without milk", "coffee", "the weather in Oslo"):
        world.remembered(text)
    scores = [hit["score"] for hit in world.recall_hits("tea with milk", k=4)]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 4
    assert world.recall("tea with milk")[0] == "tea with milk"


def test_a_late_claim_does_not_settle_what_another_took_over(fast_world: World) -> None:
    world = fast_world
    world.remembered("Alice likes tea")
    stores_runtime.wait(outbox.flush())
    Delivery.objects.update(delivered_version=0, due_at_ms=0, lease_expires_at_ms=0)
    first = execution.write_sync(outbox.claim_due, now_ms=now_ms())
    second = execution.write_sync(outbox.claim_due, now_ms=now_ms() + 120_000)
    assert len(first) == len(second) == 1
    execution.write_sync(outbox.settle, first, {}, now_ms=now_ms())
    assert Delivery.objects.get().delivered_version == 0
    execution.write_sync(outbox.settle, second, {}, now_ms=now_ms())
    assert Delivery.objects.get().delivered_version == 1
