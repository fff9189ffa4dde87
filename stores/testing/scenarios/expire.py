"""Expiring."""

from stores.expiry import DAY_MS
from stores.protocol import Capability
from stores.testing.session import Session, refuses, scenario


@scenario
async def every_condition_of_a_policy_has_to_hold(s: Session) -> None:
    await s.remember("old and sure", confidence=0.9)
    await s.remember("old and unsure", confidence=0.1)
    await s.pass_time(10 * DAY_MS)
    await s.remember("new and unsure", confidence=0.1)
    response = await s.expire(older_than_days=5, confidence_below=0.5, type="semantic")
    assert response.matched_count == 1
    assert sorted(await s.recall("old new")) == ["new and unsure", "old and sure"]


@scenario
async def an_expire_without_conditions_is_refused(s: Session) -> None:
    await s.remember("stays")
    await refuses(s.expire())
    await refuses(s.expire(older_than_days=None))
    assert await s.recall("stays") == ["stays"]


@scenario
async def archived_memories_leave_recall(s: Session) -> None:
    await s.remember("old note", confidence=0.1)
    assert (await s.expire("archive", confidence_below=0.5)).matched_count == 1
    assert (await s.expire("archive", confidence_below=0.5)).matched_count == 0
    assert await s.recall("old note") == []


@scenario
async def demoted_memories_score_a_quarter_and_keep_their_content(s: Session) -> None:
    await s.remember("red bicycle", confidence=0.1)
    await s.remember("green tractor")
    before = {hit.content: hit.score for hit in await s.hits("red bicycle", fusion="max")}
    await s.expire("demote", confidence_below=0.5)
    after = {hit.content: hit.score for hit in await s.hits("red bicycle", fusion="max")}
    assert abs(after["red bicycle"] - before["red bicycle"] / 4) < 1e-6
    assert abs(after["green tractor"] - before["green tractor"]) < 1e-6


@scenario
async def a_demoted_memory_does_not_crowd_out_a_lesser_match(s: Session) -> None:
    for _ in range(10):
        await s.remember("red bicycle", confidence=0.1)
    await s.remember("a bicycle")
    await s.expire("demote", confidence_below=0.5)
    assert await s.recall("red bicycle", k=1) == ["a bicycle"]


@scenario
async def recalls_are_tracked_from_creation_on(s: Session) -> None:
    s.needs(Capability.RECALL_TRACKING)
    await s.remember("used note")
    await s.remember("dusty thing")
    assert (await s.expire(no_recall_in_days=7)).matched_count == 0
    await s.pass_time(8 * DAY_MS)
    assert await s.recall("used note", k=1) == ["used note"]
    assert (await s.expire(no_recall_in_days=7)).matched_count == 1
    assert await s.recall("note thing") == ["used note"]
