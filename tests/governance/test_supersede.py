"""A corrected memory takes the place of the old one: never both, never neither."""

import asyncio

import pytest

from governance.decision import Ballot, decide
from governance.errors import StaleProposal
from governance.models import Review, Verdict
from tests.governance.test_thread import approve
from tests.world import World

ALLERGY = {"metadata": {"entity": "alice", "attribute": "allergy"}}


def approve_with(world: World, *, replaces: bool) -> None:
    review = world.pending_review()
    ballot = Ballot(
        user=world.reviewer,
        review_id=review.pk,
        verdict=Verdict.APPROVE,
        shown=world.shown(review),
        replaces=replaces,
    )
    asyncio.run(decide(ballot))


def test_an_approved_correction_replaces_what_it_corrects(world: World) -> None:
    old = world.remembered("Alice is allergic to tree nuts", **ALLERGY)
    new = world.remember("Alice is allergic to peanuts", approval_required=True, **ALLERGY).json()
    assert world.recall("allergy") == ["Alice is allergic to tree nuts"]
    approve(world, world.pending_review())
    assert world.recall("allergy") == ["Alice is allergic to peanuts"]
    gone = world.memory(old)
    assert (gone.end_reason, gone.successor_id) == ("superseded", new["id"])
    assert world.actions()[-2:] == ["memory.approved", "memory.superseded"]
    assert world.findings() == []


def test_the_reviewer_can_have_it_added_beside_instead(world: World) -> None:
    world.remembered("Alice is allergic to tree nuts", **ALLERGY)
    world.remember("Alice is allergic to peanuts", approval_required=True, **ALLERGY)
    approve_with(world, replaces=False)
    assert len(world.recall("allergy")) == 2


def test_the_same_entity_alone_only_replaces_if_the_reviewer_says_so(world: World) -> None:
    about_alice = {"metadata": {"entity": "alice"}}
    world.remembered("Alice lives in Rome", **about_alice)
    world.remember("Alice lives in Oslo", approval_required=True, **about_alice)
    approve(world, world.pending_review())
    assert len(world.recall("where does Alice live?")) == 2

    world.remember("Alice lives in Bern", approval_required=True, **about_alice)
    approve_with(world, replaces=True)
    found = set(world.recall("where does Alice live?"))
    assert found == {"Alice lives in Rome", "Alice lives in Bern"}  # the newest was shown


def test_what_became_known_since_it_was_shown_makes_the_decision_stale(world: World) -> None:
    world.remember("Alice is allergic to peanuts", approval_required=True, **ALLERGY)
    review = world.pending_review()
    shown = world.shown(review)
    world.remembered("Alice is allergic to soy", **ALLERGY)
    with pytest.raises(StaleProposal):
        approve(world, review, shown=shown)
    assert world.recall("allergy") == ["Alice is allergic to soy"]
    approve(world, review)
    assert world.recall("allergy") == ["Alice is allergic to peanuts"]


def test_of_two_corrections_the_one_approved_last_stays(world: World) -> None:
    for text in ("Alice is allergic to nuts", "Alice is allergic to soy"):
        world.remember(text, approval_required=True, **ALLERGY)
    for review in Review.objects.select_related("operation").order_by("created_at_ms", "pk"):
        approve(world, review)
    assert world.recall("allergy") == ["Alice is allergic to soy"]


def test_an_unreviewed_write_replaces_only_what_it_names(world: World) -> None:
    old = world.remembered("Alice is allergic to tree nuts", **ALLERGY)
    world.remembered("Alice is allergic to peanuts", **ALLERGY)
    assert len(world.recall("allergy")) == 2
    world.remembered("Alice is allergic to soy", metadata={"supersedes": [old, "unknown", 7]})
    assert sorted(world.recall("allergy")) == [
        "Alice is allergic to peanuts",
        "Alice is allergic to soy",
    ]
    assert world.findings() == []


def test_nothing_of_another_agent_user_or_tenant_is_replaced(world: World) -> None:
    theirs = [
        world.remembered("tree nuts", agent_id="other", **ALLERGY),
        world.remembered("soy", user_id="bob", **ALLERGY),
        World.create("elsewhere").remembered("milk", **ALLERGY),
    ]
    metadata = {"supersedes": theirs, **ALLERGY["metadata"]}
    world.remember("peanuts", approval_required=True, metadata=metadata)
    approve(world, world.pending_review())
    assert all(world.memory(pk).deleted_at is None for pk in theirs)
