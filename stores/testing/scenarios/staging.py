"""Writes that wait for a person."""

from stores.testing.session import Session, scenario


@scenario
async def a_staged_memory_waits_outside_recall(s: Session) -> None:
    response = await s.write("needs a person", approval_required=True)
    assert response.pending_approval
    assert response.stores == []
    assert await s.recall("needs a person") == []
    await s.approve(response.id)
    assert await s.recall("needs a person") == ["needs a person"]


@scenario
async def a_rejected_memory_never_appears(s: Session) -> None:
    response = await s.write("a bad idea", approval_required=True)
    await s.reject(response.id)
    assert await s.recall("a bad idea") == []


@scenario
async def staging_a_forget_or_merge_changes_nothing_yet(s: Session) -> None:
    one, two = await s.remember("one"), await s.remember("two")
    forgetting = await s.forget(ids=[one], approval_required=True)
    assert (forgetting.pending_approval, forgetting.forgotten_ids) == (True, [])
    merging = await s.merge(one, two, approval_required=True)
    assert (merging.pending_approval, merging.merged_count) == (True, 0)
    assert len(await s.recall("one two")) == 2
