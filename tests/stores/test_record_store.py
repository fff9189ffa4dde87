"""RecordStore beyond the protocol: staging by hand, lost races, stores that fail."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from stores.errors import StoreUnavailable
from stores.protocol import MemoryStore, Replica, ReplicaRecord
from stores.records import RECALL_NOTED_EVERY_MS, MergeRefused, NotStaged, RecordStore
from stores.testing import Fault, FlakyReplica, InMemoryReplica
from stores.wire import (
    ExpireRequest,
    ForgetRequest,
    ForgetResponse,
    MergeRequest,
    RecallRequest,
    RememberRequest,
)
from tests.stores.builders import EMBEDDER, NOW, a_state


def a_store(replica: Replica, *, now: int = NOW) -> RecordStore:
    ids = iter(f"id-{number}" for number in range(1_000))
    return RecordStore(replica, EMBEDDER, clock=lambda: now, new_id=lambda: next(ids))


def remembering(content: str, **fields: Any) -> RememberRequest:
    request = {"agent_id": "agent", "type": "semantic", "content": content} | fields
    return RememberRequest(**request)


def recalling(query: str) -> RecallRequest:
    return RecallRequest(agent_id="agent", query=query)


async def held(replica: Replica, memory_id: str) -> ReplicaRecord:
    (state,) = await replica.fetch([memory_id])
    return state


def test_it_is_a_memory_store_that_stages_and_tracks():
    store = a_store(InMemoryReplica())
    assert isinstance(store, MemoryStore)
    assert {"semantic", "vector", "governance", "recall_tracking"} <= store.capabilities


async def test_ids_and_times_are_those_passed_in():
    response = await a_store(InMemoryReplica()).remember(remembering("x"))
    assert (response.id, response.stored_at) == ("id-0", NOW)


async def test_ids_are_ulids_by_default():
    response = await RecordStore(InMemoryReplica(), EMBEDDER).remember(remembering("x"))
    assert len(response.id) == 26


async def test_a_proposal_is_done_when_approved():
    store = a_store(InMemoryReplica())
    memory_id = (await store.remember(remembering("secret"))).id
    await store.forget(ForgetRequest(agent_id="agent", ids=[memory_id], approval_required=True))
    (proposal,) = store.proposals
    response = await store.approve(proposal.id)
    assert isinstance(response, ForgetResponse)
    assert response.forgotten_ids == [memory_id]
    assert store.proposals == ()


async def test_a_rejected_proposal_does_nothing():
    store = a_store(InMemoryReplica())
    one, two = [(await store.remember(remembering(text))).id for text in ("one", "two")]
    await store.merge(
        MergeRequest(agent_id="agent", canonical=one, duplicates=[two], approval_required=True)
    )
    await store.reject(store.proposals[0].id)
    assert len((await store.recall(recalling("one"))).results) == 2


async def test_only_what_is_staged_can_be_decided_and_only_once():
    store = a_store(InMemoryReplica())
    live = (await store.remember(remembering("live"))).id
    staged = (await store.remember(remembering("staged", approval_required=True))).id
    await store.approve(staged)
    for memory_id in (live, staged, "unknown"):
        with pytest.raises(NotStaged):
            await store.reject(memory_id)


async def test_an_impossible_merge_is_refused_before_anyone_is_asked():
    store = a_store(InMemoryReplica())
    with pytest.raises(MergeRefused):
        await store.merge(
            MergeRequest(agent_id="agent", canonical="a", duplicates=["b"], approval_required=True)
        )
    assert store.proposals == ()


async def test_an_untouched_canonical_is_not_written_again():
    replica = InMemoryReplica()
    await replica.put([a_state("a", "one", version=4), a_state("b", "two")])
    await a_store(replica).merge(MergeRequest(agent_id="agent", canonical="a", duplicates=["b"]))
    assert (await held(replica, "a")).version == 4
    assert (await held(replica, "b")).deleted_at == NOW


async def test_a_merge_keeps_metadata_source_and_expiry_of_the_canonical():
    replica = InMemoryReplica()
    canonical = a_state(
        "a", "one", metadata={"k": 1}, source="chat", expires_at=NOW + 9, created_at=NOW - 9
    )
    await replica.put([canonical, a_state("b", "two")])
    request = MergeRequest(
        agent_id="agent", canonical="a", duplicates=["b"], strategy="merge_content"
    )
    await a_store(replica, now=NOW + 1).merge(request)
    survivor = (await held(replica, "a")).record
    assert (survivor.metadata, survivor.source, survivor.expires_at) == ({"k": 1}, "chat", NOW + 9)
    assert (survivor.created_at, survivor.updated_at) == (NOW - 9, NOW + 1)


async def test_demoting_does_not_modify_the_record():
    replica = InMemoryReplica()
    await replica.put([a_state("a", confidence=0.1)])
    before = (await held(replica, "a")).record
    request = {"agent_id": "agent", "policy": {"confidence_below": 0.5}, "action": "demote"}
    await a_store(replica).expire(ExpireRequest.model_validate(request))
    after = await held(replica, "a")
    assert after.record == before
    assert after.demoted_at == NOW


async def test_a_recall_is_noted_at_most_once_an_hour():
    replica = InMemoryReplica()
    await replica.put([a_state("a")])
    await a_store(replica).recall(recalling("x"))
    await a_store(replica, now=NOW + RECALL_NOTED_EVERY_MS - 1).recall(recalling("x"))
    assert (await held(replica, "a")).last_recalled_at == NOW
    await a_store(replica, now=NOW + RECALL_NOTED_EVERY_MS).recall(recalling("x"))
    assert (await held(replica, "a")).last_recalled_at == NOW + RECALL_NOTED_EVERY_MS


async def test_a_hard_delete_leaves_no_record():
    replica = InMemoryReplica()
    await replica.put([a_state("a"), a_state("staged", state={"deleted_at": -1})])
    response = await a_store(replica).forget(
        ForgetRequest(agent_id="agent", ids=["a", "staged"], hard_delete=True)
    )
    assert response.stores[0].count == 2
    assert await replica.fetch(["a", "staged"]) == []


# --- races ---------------------------------------------------------------------------------------


class OvertakenReplica(InMemoryReplica):
    """Another process changes a memory just before each of the first few writes to it."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self._times = times

    async def put(self, records: list[ReplicaRecord]) -> None:  # type: ignore[override]
        if self._times and records[0].version > 1:
            self._times -= 1
            await super().put([replace(records[0], deleted_at=None, last_recalled_at=self._times)])
        await super().put(records)


async def test_a_forget_that_lost_a_race_is_made_again():
    replica = OvertakenReplica(times=2)
    await replica.put([a_state("a")])
    response = await a_store(replica).forget(ForgetRequest(agent_id="agent", ids=["a"]))
    assert response.forgotten_ids == ["a"]
    assert (await held(replica, "a")).deleted_at == NOW


@pytest.mark.parametrize("merge_first", [True, False])
async def test_a_merge_and_a_forget_at_once_happen_one_after_the_other(merge_first: bool):
    replica = InMemoryReplica()
    await replica.put([a_state(name, name) for name in "abc"])
    store = RecordStore(replica, EMBEDDER, clock=count(NOW).__next__)
    # This strategy embeds the survivor, which gives the other call time to come between.
    merging = store.merge(
        MergeRequest(
            agent_id="agent", canonical="a", duplicates=["b", "c"], strategy="merge_content"
        )
    )
    forgetting = store.forget(ForgetRequest(agent_id="agent", ids=["c"]))
    calls = [merging, forgetting] if merge_first else [forgetting, merging]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert not any(isinstance(outcome, StoreUnavailable) for outcome in outcomes)
    live = {s.record.id for s in await replica.fetch("abc") if s.deleted_at is None}
    was_refused = any(isinstance(outcome, MergeRefused) for outcome in outcomes)
    assert live == ({"a", "b"} if was_refused else {"a"})


async def test_a_hard_delete_catches_up_with_a_newer_version():
    class Rewritten(InMemoryReplica):
        rewrites = 2

        async def erase(self, versions: Mapping[str, int]) -> None:
            if self.rewrites and versions:
                self.rewrites -= 1
                await self.put([a_state("a", version=versions["a"] + 1)])
            await super().erase(versions)

    replica = Rewritten()
    await replica.put([a_state("a")])
    request = ForgetRequest(agent_id="agent", ids=["a"], hard_delete=True)
    assert (await a_store(replica).forget(request)).forgotten_ids == ["a"]
    assert await replica.fetch(["a"]) == []


async def test_a_forget_that_keeps_losing_says_so():
    replica = OvertakenReplica(times=100)
    await replica.put([a_state("a")])
    with pytest.raises(StoreUnavailable):
        await a_store(replica).forget(ForgetRequest(agent_id="agent", ids=["a"]))


async def test_a_recall_and_a_forget_at_once_never_revive_a_memory():
    replica = InMemoryReplica()
    store = a_store(replica)
    for number in range(20):
        await replica.put([a_state(f"m{number}", f"note {number}")])
        request = ForgetRequest(agent_id="agent", ids=[f"m{number}"])
        await asyncio.gather(store.recall(recalling("note")), store.forget(request))
        assert (await held(replica, f"m{number}")).deleted_at == NOW


# --- failing stores ------------------------------------------------------------------------------


async def test_a_store_that_fails_is_reported_and_the_same_call_works_later():
    store = a_store(FlakyReplica(InMemoryReplica(), [Fault.FAIL]))
    with pytest.raises(StoreUnavailable):
        await store.remember(remembering("x"))
    await store.remember(remembering("x"))
    assert len((await store.recall(recalling("x"))).results) == 1


async def test_a_hanging_store_holds_its_caller_only_as_long_as_it_waits():
    store = a_store(FlakyReplica(InMemoryReplica(), [Fault.HANG]))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await store.recall(recalling("x"))
    assert (await store.recall(recalling("x"))).results == []


@pytest.mark.parametrize("seed", range(20))
async def test_repeating_a_forget_over_a_bad_line_forgets_once(seed: int):
    inner = InMemoryReplica()
    await inner.put([a_state("a", "secret"), a_state("b", "kept")])
    store = a_store(FlakyReplica.seeded(inner, seed=seed, rate=0.4))
    for _ in range(100):
        try:
            await store.forget(ForgetRequest(agent_id="agent", ids=["a"]))
            break
        except StoreUnavailable:
            continue
    assert [state.deleted_at for state in await inner.fetch(["a", "b"])] == [NOW, None]
    assert (await held(inner, "a")).version == 2
