"""Edit, then approve: the reviewer's text is remembered, the agent's stays in the history."""

import asyncio

import pytest

from governance.decision import Ballot, decide
from governance.errors import Invalid
from governance.models import AuditRow, Memory, MemoryVersion, Verdict
from governance.sealing import data_key
from tests.governance.test_pages import logged_in
from tests.world import World


def approve_edited(world: World, content: str) -> None:
    review = world.pending_review()
    ballot = Ballot(
        user=world.reviewer,
        review_id=review.pk,
        verdict=Verdict.APPROVE,
        shown=world.shown(review),
        content=content,
    )
    asyncio.run(decide(ballot))


def test_what_is_recalled_is_the_edited_text_found_by_its_own_vector(world: World) -> None:
    memory_id = world.remember("Alice likes green tee", approval_required=True).json()["id"]
    approve_edited(world, "Alice likes green tea and dislikes peanuts")
    assert world.recall("peanut aversion") == ["Alice likes green tea and dislikes peanuts"]
    texts = MemoryVersion.objects.filter(memory=memory_id).order_by("number")
    assert list(texts.values_list("content", flat=True)) == [
        "Alice likes green tee",
        "Alice likes green tea and dislikes peanuts",
        "Alice likes green tea and dislikes peanuts",
    ]
    assert world.actions() == ["memory.staged", "memory.edited", "memory.approved"]
    row = AuditRow.objects.get(action="memory.edited")
    assert row.actor_label == world.reviewer.label
    assert row.seal_key is not None
    key = data_key(row.seal_key)
    assert key is not None
    assert key.open(bytes(row.sealed or b""))["content"].startswith("Alice likes green tea")
    assert world.findings() == []


def test_an_unchanged_text_is_no_edit(world: World) -> None:
    world.remember("Alice likes tea", approval_required=True)
    approve_edited(world, "Alice likes tea")
    assert world.actions() == ["memory.staged", "memory.approved"]


@pytest.mark.parametrize("content", ["", "   ", "a\x00b", "x" * 100_001])
def test_a_text_no_agent_could_propose_is_refused_and_nothing_is_decided(
    world: World, content: str
) -> None:
    world.remember("Alice likes tea", approval_required=True)
    with pytest.raises(Invalid):
        approve_edited(world, content)
    assert world.pending_review().status == "pending"


def test_an_edited_procedure_must_be_one(world: World) -> None:
    machine = '{"name": "n", "initial": "a", "states": ["a"], "transitions": [], "current": "a"}'
    world.remember(machine, type="procedural", approval_required=True)
    with pytest.raises(Invalid):
        approve_edited(world, machine.replace('"a"', '"os.system"', 1))
    assert Memory.objects.get().deleted_at == -1


def test_what_exists_cannot_be_edited_through_a_forget(world: World) -> None:
    memory_id = world.remembered("Alice likes tea")
    world.forget(ids=[memory_id], approval_required=True)
    with pytest.raises(Invalid):
        approve_edited(world, "Alice likes gin")
    assert world.recall("Alice") == ["Alice likes tea"]


def test_the_form_edits_without_scripts(world: World) -> None:
    world.remember("Alice likes tee", approval_required=True)
    review = world.pending_review()
    client = logged_in(world.reviewer)
    page = client.get(f"/proposals/{review.pk}?panel=edit").content.decode()
    assert "Alice likes tee</textarea>" in page
    form = {"verdict": "approve", "shown": world.shown(review), "content": "Alice likes tea\r\n!"}
    assert client.post(f"/proposals/{review.pk}/decision", form).status_code == 303
    assert world.recall("Alice") == ["Alice likes tea\n!"]
