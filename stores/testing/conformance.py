"""How a memorywire store behaves, as scenarios that run against any of them.

Each scenario gets a factory of stores and opens a fresh one. It asserts through the five operations
only, so a scenario also holds for a store that is reached over HTTP. What a store cannot be asked
to do in a test (such as moving its clock) raises ``Unsupported``: skip the scenario then.
"""

import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol

from stores.expiry import DAY_MS
from stores.protocol import Capability, MemoryStore
from stores.wire import (
    ExpireRequest,
    ExpireResponse,
    ForgetRequest,
    ForgetResponse,
    MergeRequest,
    MergeResponse,
    RecallHit,
    RecallRequest,
    RememberRequest,
    RememberResponse,
)

AGENT: Final = "agent"


class Unsupported(Exception):
    """The store cannot be put into the situation this scenario is about."""


class StoreUnderTest(Protocol):
    """A store with the handles a test needs beside the five operations."""

    @property
    def store(self) -> MemoryStore: ...

    async def approve(self, memory_id: str) -> None:
        """Decide on a staged memory as a reviewer would."""
        ...

    async def reject(self, memory_id: str) -> None: ...

    async def pass_time(self, ms: int) -> None:
        """Let so many milliseconds go by for the store."""
        ...


StoreFactory = Callable[[], AbstractAsyncContextManager[StoreUnderTest]]
Scenario = Callable[[StoreFactory], Awaitable[None]]

SCENARIOS: Final[list[Scenario]] = []


class _Session:
    """One store under test, with the operations in short form."""

    def __init__(self, under_test: StoreUnderTest) -> None:
        self._under_test = under_test
        self._store = under_test.store
        self.approve = under_test.approve
        self.reject = under_test.reject
        self.pass_time = under_test.pass_time

    def needs(self, *capabilities: Capability) -> None:
        missing = set(capabilities) - self._store.capabilities
        if missing:
            raise Unsupported(", ".join(sorted(missing)))

    async def write(self, content: str, **fields: Any) -> RememberResponse:
        request = {"agent_id": AGENT, "type": "semantic", "content": content} | fields
        return await self._store.remember(RememberRequest(**request))

    async def remember(self, content: str, **fields: Any) -> str:
        return (await self.write(content, **fields)).id

    async def hits(self, query: str, **fields: Any) -> list[RecallHit]:
        request = {"agent_id": AGENT, "query": query} | fields
        return (await self._store.recall(RecallRequest(**request))).results

    async def recall(self, query: str, **fields: Any) -> list[str]:
        return [hit.content for hit in await self.hits(query, **fields)]

    async def forget(self, **fields: Any) -> ForgetResponse:
        return await self._store.forget(ForgetRequest(**({"agent_id": AGENT} | fields)))

    async def merge(self, canonical: str, *duplicates: str, **fields: Any) -> MergeResponse:
        request = {"agent_id": AGENT, "canonical": canonical, "duplicates": list(duplicates)}
        return await self._store.merge(MergeRequest(**(request | fields)))

    async def expire(self, action: str = "forget", **policy: Any) -> ExpireResponse:
        return await self._store.expire(
            ExpireRequest.model_validate({"agent_id": AGENT, "policy": policy, "action": action})
        )


def scenario(body: Callable[[_Session], Awaitable[None]]) -> Scenario:
    """Register a scenario; it is given a session with a fresh store."""

    async def run(factory: StoreFactory) -> None:
        async with factory() as under_test:
            await body(_Session(under_test))

    run.__name__ = body.__name__
    run.__doc__ = body.__doc__
    SCENARIOS.append(run)
    return run


async def refuses(call: Awaitable[Any]) -> str:
    """Assert that a call is refused as wrong, and return what the refusal says."""
    try:
        await call
    except ValueError as error:
        return str(error)
    raise AssertionError("should have been refused")


# --- remember and recall -------------------------------------------------------------------------


@scenario
async def what_is_remembered_is_recalled_byte_for_byte(s: _Session) -> None:
    content = "  Zoë's café ☕ costs 3€\r\n\ttabs, “quotes” and e\u0301 stay  "
    await s.remember(content, metadata={"big": 12345678901234567890123, "nested": {"a": [1, None]}})
    (hit,) = await s.hits("café")
    assert hit.content == content
    assert hit.metadata == {"big": 12345678901234567890123, "nested": {"a": [1, None]}}


@scenario
async def a_direct_write_names_the_store_and_is_not_pending(s: _Session) -> None:
    response = await s.write("Alice is allergic to peanuts")
    assert response.stores
    assert not response.pending_approval


@scenario
async def the_same_words_come_first_and_scores_fall(s: _Session) -> None:
    for content in ("the cat sleeps", "a red bicycle leans there", "trains leave at noon"):
        await s.remember(content)
    for fusion in ("rrf", "max", "weighted"):
        hits = await s.hits("a red bicycle leans there", fusion=fusion)
        assert hits[0].content == "a red bicycle leans there"
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)


@scenario
async def recall_returns_k_whenever_k_exist(s: _Session) -> None:
    for number in range(12):
        await s.remember(f"note number {number}")
    for k in (1, 5, 12):
        assert len(await s.recall("entirely unrelated", k=k)) == k
    assert len(await s.recall("entirely unrelated", k=1000)) == 12


@scenario
async def a_memory_is_returned_once(s: _Session) -> None:
    for _ in range(3):
        await s.remember("twins twins twins")
    hits = await s.hits("twins", k=10)
    assert len({hit.id for hit in hits}) == len(hits) == 3


@scenario
async def types_narrow_a_recall(s: _Session) -> None:
    await s.remember("a fact about tea")
    await s.remember("an evening with tea", type="episodic")
    await s.remember("a fear of tea", type="emotional")
    assert await s.recall("tea", types=["episodic"]) == ["an evening with tea"]
    assert len(await s.recall("tea", types=["episodic", "emotional"])) == 2


@scenario
async def a_filter_narrows_a_recall_without_starving_it(s: _Session) -> None:
    for number in range(60):
        await s.remember("apple pie", metadata={"number": number})
    await s.remember("something else", metadata={"number": 99})
    assert await s.recall("apple pie", filter={"number": {"$gte": 99}}) == ["something else"]


@scenario
async def an_unknown_operator_is_refused_by_name(s: _Session) -> None:
    await s.remember("x")
    assert "$regex" in await refuses(s.recall("x", filter={"a": {"$regex": "b"}}))
    assert "$regex" in await refuses(s.forget(filter={"a": {"$regex": "b"}}))
    assert await s.recall("x") == ["x"]


@scenario
async def query_punctuation_is_inert(s: _Session) -> None:
    await s.remember("ticket POL-358 for O'Hare")
    for query in ("POL-358", "O'Hare"):
        assert await s.recall(query) == ["ticket POL-358 for O'Hare"]
    for query in (
        '"unbalanced',
        "a AND (",
        "title:x",
        "*",
        "NEAR(a b)",
        "-ohare",
        "^x",
        '"' * 5000,
    ):
        assert len(await s.recall(query)) == 1


@scenario
async def words_inside_unspaced_scripts_are_found(s: _Session) -> None:
    s.needs(Capability.FTS)
    texts = {
        "東京タワー": "会議は東京タワーの近くで行う",
        "서울역": "내일은 서울역에서 만나자",
        "รถไฟ": "พรุ่งนี้เราจะนั่งรถไฟไปเชียงใหม่",
        "build-77": "重跑build-77后再看结果",
        "水": "少喝水",
    }
    for text in texts.values():
        await s.remember(text)
    for query, text in texts.items():
        assert (await s.recall(query, k=1)) == [text], query


@scenario
async def long_content_is_found_by_its_last_word(s: _Session) -> None:
    s.needs(Capability.FTS)
    await s.remember("filler words go on " * 4_000 + "xylophone")
    for number in range(5):
        await s.remember(f"short note {number}")
    assert (await s.recall("xylophone", k=1))[0].endswith("xylophone")


# --- who sees what -------------------------------------------------------------------------------


@scenario
async def names_are_compared_whole(s: _Session) -> None:
    names = ["acme", "acme-corp", "ac_e", "a%", "ACME", "acme ", "acme/x", "acme*"]
    for name in names:
        await s.remember(f"secret of [{name}]", agent_id=name)
        await s.remember("shared topic", user_id=name)
    for name in names:
        assert await s.recall("secret", agent_id=name, k=100) == [f"secret of [{name}]"]
        assert len(await s.hits("shared topic", user_id=name, k=100)) == 1


@scenario
async def noisy_neighbours_do_not_starve_a_small_agent(s: _Session) -> None:
    for number in range(300):
        await s.remember("apple pie", agent_id="noisy", metadata={"number": number})
    mine = [await s.remember(f"apple pie of mine {number}") for number in range(5)]
    assert {hit.id for hit in await s.hits("apple pie", k=5)} == set(mine)


@scenario
async def forgotten_neighbours_do_not_starve_a_recall(s: _Session) -> None:
    gone = [await s.remember("apple pie") for _ in range(100)]
    kept = await s.remember("apple pie too")
    await s.forget(ids=gone)
    assert [hit.id for hit in await s.hits("apple pie", k=5)] == [kept]


# --- time ----------------------------------------------------------------------------------------


@scenario
async def an_expired_memory_is_not_recalled(s: _Session) -> None:
    await s.remember("stays")
    stored_at = (await s.write("lasts a day")).stored_at
    await s.remember("goes soon", expires_at=stored_at + DAY_MS)
    assert len(await s.recall("goes soon")) == 3
    await s.pass_time(DAY_MS + 1_000)
    assert sorted(await s.recall("goes soon")) == ["lasts a day", "stays"]


@scenario
async def fresher_than_days_leaves_old_memories_out(s: _Session) -> None:
    await s.remember("old note")
    await s.pass_time(3 * DAY_MS)
    await s.remember("new note")
    assert await s.recall("note", fresher_than_days=2) == ["new note"]
    assert len(await s.recall("note", fresher_than_days=4)) == 2


# --- forget --------------------------------------------------------------------------------------


@scenario
async def a_forgotten_memory_is_gone_and_counted_once(s: _Session) -> None:
    memory_id = await s.remember("secret plan")
    response = await s.forget(ids=[memory_id, memory_id])
    assert response.forgotten_ids == [memory_id]
    assert [outcome.count for outcome in response.stores] == [1] * len(response.stores)
    assert await s.recall("secret plan") == []
    again = await s.forget(ids=[memory_id])
    assert again.forgotten_ids == []


@scenario
async def a_hard_delete_works_on_live_and_on_forgotten_memories(s: _Session) -> None:
    live, forgotten = await s.remember("one secret"), await s.remember("two secrets")
    await s.forget(ids=[forgotten])
    response = await s.forget(ids=[live, forgotten], hard_delete=True)
    assert response.hard_delete
    assert set(response.forgotten_ids) == {live, forgotten}
    assert await s.recall("secret") == []


@scenario
async def ids_and_filter_are_united_within_agent_and_user(s: _Session) -> None:
    by_id = await s.remember("one", user_id="ann")
    by_filter = await s.remember("two", user_id="ann", metadata={"drop": True})
    other_user = await s.remember("three", user_id="bob", metadata={"drop": True})
    other_agent = await s.remember("four", agent_id="other", metadata={"drop": True})
    response = await s.forget(
        ids=[by_id, other_user, other_agent, "unknown"], filter={"drop": True}, user_id="ann"
    )
    assert set(response.forgotten_ids) == {by_id, by_filter}
    assert await s.recall("three") == ["three"]
    assert await s.recall("four", agent_id="other") == ["four"]


@scenario
async def forgetting_without_naming_anything_is_refused(s: _Session) -> None:
    await s.remember("stays")
    nothing: list[dict[str, Any]] = [
        {},
        {"ids": []},
        {"filter": {}},
        {"ids": [], "filter": {}},
        {"filter": {"x": None}},
        {"filter": {"$or": [{}]}},
    ]
    for fields in nothing:
        await refuses(s.forget(**fields))
    assert await s.recall("stays") == ["stays"]


# --- merge ---------------------------------------------------------------------------------------


@scenario
async def keep_canonical_drops_the_duplicates_only(s: _Session) -> None:
    kept = await s.remember("Alice likes tea")
    dropped = [await s.remember("Alice enjoys tea"), await s.remember("tea is what Alice likes")]
    response = await s.merge(kept, *dropped)
    assert (response.canonical, response.merged_count) == (kept, 2)
    assert await s.recall("Alice tea") == ["Alice likes tea"]


@scenario
async def merge_content_is_found_by_the_text_it_took_in(s: _Session) -> None:
    kept = await s.remember("likes tea", metadata={"a": 1, "k": "old"}, confidence=0.4)
    other = await s.remember("owns a zeppelin", metadata={"b": 2, "k": "new"}, confidence=0.8)
    await s.remember("an unrelated remark")
    await s.merge(kept, other, strategy="merge_content")
    first = (await s.hits("owns a zeppelin"))[0]
    assert (first.id, first.content) == (kept, "likes tea\nowns a zeppelin")
    assert first.metadata == {"a": 1, "b": 2, "k": "new"}


@scenario
async def keep_highest_confidence_takes_the_trusted_content(s: _Session) -> None:
    kept = await s.remember("maybe tea", confidence=0.2)
    trusted = await s.remember("surely coffee", confidence=0.9)
    await s.merge(kept, trusted, strategy="keep_highest_confidence")
    assert [(hit.id, hit.content) for hit in await s.hits("coffee")] == [(kept, "surely coffee")]


@scenario
async def entities_are_merged_by_name(s: _Session) -> None:
    await s.remember("Alice Smith", metadata={"entity_name": "Alice Smith"})
    await s.remember("alice", metadata={"entity": "alice"})
    response = await s.merge("Alice Smith", "alice")
    assert (response.canonical, response.merged_count) == ("Alice Smith", 1)
    assert await s.recall("alice") == ["Alice Smith"]


@scenario
async def a_merge_is_refused_whole(s: _Session) -> None:
    one = await s.remember("one", metadata={"entity": "twin"})
    two = await s.remember("two", metadata={"entity": "twin"})
    gone = await s.remember("three")
    await s.forget(ids=[gone])
    foreign = await s.remember("foreign", agent_id="other")
    users = await s.remember("a user's", user_id="ann")
    staged = (await s.write("staged", approval_required=True)).id
    attempts: list[list[str]] = [
        ["missing", one, two],
        [one, "missing"],
        [one, two, gone],
        [one, foreign],
        [one, users],
        [one, staged],
        [one, one],
        [one, two, two],
        [one, "twin"],
    ]
    for canonical, *duplicates in attempts:
        await refuses(s.merge(canonical, *duplicates))
    assert sorted(await s.recall("one two", filter={"entity": "twin"})) == ["one", "two"]


# --- expire --------------------------------------------------------------------------------------


@scenario
async def every_condition_of_a_policy_has_to_hold(s: _Session) -> None:
    await s.remember("old and sure", confidence=0.9)
    await s.remember("old and unsure", confidence=0.1)
    await s.pass_time(10 * DAY_MS)
    await s.remember("new and unsure", confidence=0.1)
    response = await s.expire(older_than_days=5, confidence_below=0.5, type="semantic")
    assert response.matched_count == 1
    assert sorted(await s.recall("old new")) == ["new and unsure", "old and sure"]


@scenario
async def an_expire_without_conditions_is_refused(s: _Session) -> None:
    await s.remember("stays")
    await refuses(s.expire())
    await refuses(s.expire(older_than_days=None))
    assert await s.recall("stays") == ["stays"]


@scenario
async def archived_memories_leave_recall(s: _Session) -> None:
    await s.remember("old note", confidence=0.1)
    assert (await s.expire("archive", confidence_below=0.5)).matched_count == 1
    assert (await s.expire("archive", confidence_below=0.5)).matched_count == 0
    assert await s.recall("old note") == []


@scenario
async def demoted_memories_score_a_quarter_and_keep_their_content(s: _Session) -> None:
    await s.remember("red bicycle", confidence=0.1)
    await s.remember("green tractor")
    before = {hit.content: hit.score for hit in await s.hits("red bicycle", fusion="max")}
    await s.expire("demote", confidence_below=0.5)
    after = {hit.content: hit.score for hit in await s.hits("red bicycle", fusion="max")}
    assert abs(after["red bicycle"] - before["red bicycle"] / 4) < 1e-6
    assert abs(after["green tractor"] - before["green tractor"]) < 1e-6


@scenario
async def a_demoted_memory_does_not_crowd_out_a_lesser_match(s: _Session) -> None:
    for _ in range(10):
        await s.remember("red bicycle", confidence=0.1)
    await s.remember("a bicycle")
    await s.expire("demote", confidence_below=0.5)
    assert await s.recall("red bicycle", k=1) == ["a bicycle"]


@scenario
async def recalls_are_tracked_from_creation_on(s: _Session) -> None:
    s.needs(Capability.RECALL_TRACKING)
    await s.remember("used note")
    await s.remember("dusty thing")
    assert (await s.expire(no_recall_in_days=7)).matched_count == 0
    await s.pass_time(8 * DAY_MS)
    assert await s.recall("used note", k=1) == ["used note"]
    assert (await s.expire(no_recall_in_days=7)).matched_count == 1
    assert await s.recall("note thing") == ["used note"]


# --- staging -------------------------------------------------------------------------------------


@scenario
async def a_staged_memory_waits_outside_recall(s: _Session) -> None:
    response = await s.write("needs a person", approval_required=True)
    assert response.pending_approval
    assert response.stores == []
    assert await s.recall("needs a person") == []
    await s.approve(response.id)
    assert await s.recall("needs a person") == ["needs a person"]


@scenario
async def a_rejected_memory_never_appears(s: _Session) -> None:
    response = await s.write("a bad idea", approval_required=True)
    await s.reject(response.id)
    assert await s.recall("a bad idea") == []


@scenario
async def staging_a_forget_or_merge_changes_nothing_yet(s: _Session) -> None:
    one, two = await s.remember("one"), await s.remember("two")
    forgetting = await s.forget(ids=[one], approval_required=True)
    assert (forgetting.pending_approval, forgetting.forgotten_ids) == (True, [])
    merging = await s.merge(one, two, approval_required=True)
    assert (merging.pending_approval, merging.merged_count) == (True, 0)
    assert len(await s.recall("one two")) == 2


# --- procedures ----------------------------------------------------------------------------------

_PROCEDURE: Final = {
    "name": "book-flight",
    "initial": "searching",
    "states": ["searching", "paying"],
    "transitions": [{"trigger": "picked", "source": "searching", "dest": "paying"}],
    "current": "searching",
}


@scenario
async def a_procedure_is_kept_as_written(s: _Session) -> None:
    s.needs(Capability.PROCEDURAL)
    content = json.dumps(_PROCEDURE, indent=3)
    await s.remember(content, type="procedural")
    assert await s.recall("book flight") == [content]


@scenario
async def a_procedure_that_names_code_is_refused_at_every_door(s: _Session) -> None:
    s.needs(Capability.PROCEDURAL)
    transition = {"trigger": "t", "source": "*", "dest": "paying", "after": "os.system"}
    bad = json.dumps(_PROCEDURE | {"transitions": [transition]})
    await refuses(s.write(bad, type="procedural"))
    await refuses(s.write(bad, type="procedural", approval_required=True))
    good = await s.remember(json.dumps(_PROCEDURE), type="procedural")
    other = await s.remember("after os.system")
    await refuses(s.merge(good, other, strategy="merge_content"))
    assert len(await s.recall("book flight", k=10)) == 2
