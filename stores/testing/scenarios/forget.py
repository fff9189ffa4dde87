"""Forgetting."""

from typing import Any

from stores.testing.session import Session, refuses, scenario


@scenario
async def a_forgotten_memory_is_gone_and_counted_once(s: Session) -> None:
    memory_id = await s.remember("secret plan")
    response = await s.forget(ids=[memory_id, memory_id])
    assert response.forgotten_ids == [memory_id]
    assert [outcome.count for outcome in response.stores] == [1] * len(response.stores)
    assert await s.recall("secret plan") == []
    again = await s.forget(ids=[memory_id])
    assert again.forgotten_ids == []


@scenario
async def a_hard_delete_works_on_live_and_on_forgotten_memories(s: Session) -> None:
    live, forgotten = await s.remember("one secret"), await s.remember("two secrets")
    await s.forget(ids=[forgotten])
    response = await s.forget(ids=[live, forgotten], hard_delete=True)
    assert response.hard_delete
    assert set(response.forgotten_ids) == {live, forgotten}
    assert await s.recall("secret") == []


@scenario
async def ids_and_filter_are_united_within_agent_and_user(s: Session) -> None:
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
async def forgetting_without_naming_anything_is_refused(s: Session) -> None:
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
