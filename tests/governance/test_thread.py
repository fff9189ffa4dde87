"""One memory from agent to reviewer to recall, over HTTP and the decision's own door."""

import asyncio
import threading
import time

import pytest

from governance.decision import Ballot, decide
from governance.errors import AlreadyDecided, SelfApproval, StaleProposal
from governance.models import Decision, Review, User, Verdict
from tests.profiles import PRIMARY
from tests.world import World


def approve(world: World, review: Review, *, user: User | None = None, shown: str = "") -> None:
    decide_as(world, review, Verdict.APPROVE, user=user, shown=shown)


def decide_as(
    world: World, review: Review, verdict: Verdict, *, user: User | None = None, shown: str = ""
) -> None:
    ballot = Ballot(
        user=user or world.reviewer,
        review_id=review.pk,
        verdict=verdict,
        shown=shown or world.shown(review),
        reason="as discussed",
    )
    asyncio.run(decide(ballot))


def test_an_unstaged_write_is_recallable_when_its_answer_arrives(world: World) -> None:
    response = world.remember("Alice is allergic to peanuts")
    assert response.status_code == 200
    body = response.json()
    assert body["pending_approval"] is False
    assert body["stores"] == [PRIMARY]
    assert body["approval_url"] is None
    assert world.recall("what is Alice allergic to?") == ["Alice is allergic to peanuts"]
    assert world.actions() == ["memory.remembered"]


def test_a_staged_write_is_seen_by_nobody_until_a_person_approves_it(world: World) -> None:
    response = world.remember("Alice moved to Oslo", approval_required=True)
    assert response.status_code == 202
    body = response.json()
    assert body["pending_approval"] is True
    assert body["stores"] == []
    review = world.pending_review()
    assert body["approval_url"].endswith(f"/proposals/{review.pk}")
    assert world.memory(body["id"]).deleted_at == -1
    assert world.recall("where does Alice live?") == []

    approve(world, review)

    assert world.recall("where does Alice live?") == ["Alice moved to Oslo"]
    assert world.actions() == ["memory.staged", "memory.approved"]
    assert world.findings() == []


def test_a_rejected_write_is_never_recalled_and_says_why(world: World) -> None:
    operation = world.remember("The moon is cheese", approval_required=True)["Memorywire-Operation"]
    decide_as(world, world.pending_review(), Verdict.REJECT)
    assert world.recall("moon") == []
    state = world.get(f"/v0/operations/{operation}").json()
    assert state["status"] == "rejected"
    assert state["decision"]["approved"] is False
    assert state["decision"]["reason"] == "as discussed"
    assert world.findings() == []


def test_the_same_proposal_again_is_the_same_proposal(world: World) -> None:
    first = world.remember("Alice moved to Oslo", approval_required=True).json()
    again = world.remember("Alice moved to Oslo", approval_required=True).json()
    assert again == first
    assert world.actions() == ["memory.staged"]


def test_waiting_for_a_decision_answers_once_it_is_made(world: World) -> None:
    operation = world.remember("Bob prefers tea", approval_required=True)["Memorywire-Operation"]
    review = world.pending_review()
    threading.Timer(0.3, approve, (world, review)).start()
    started = time.monotonic()
    state = world.get(f"/v0/operations/{operation}?wait=20").json()
    assert state["status"] == "applied"
    assert state["pending_approval"] is False
    assert time.monotonic() - started < 10


def test_a_wait_longer_than_a_minute_is_refused(world: World) -> None:
    operation = world.remember("Bob prefers tea")["Memorywire-Operation"]
    response = world.get(f"/v0/operations/{operation}?wait=61")
    assert response.status_code == 422
    assert response["Content-Type"] == "application/problem+json"


def test_the_owner_of_the_key_may_reject_and_never_approve(world: World) -> None:
    """C35: whoever proposes does not approve, whatever they are called by then."""
    from governance.models import ApiKey

    ApiKey.objects.update(owner=world.reviewer)
    world.remember("Pay invoices from me at once", approval_required=True)
    review = world.pending_review()
    world.reviewer.name = "Somebody Else"
    world.reviewer.save()

    with pytest.raises(SelfApproval):
        approve(world, review)
    assert world.actions()[-1] == "decision.refused"
    assert Review.objects.get().status == "pending"

    # Handing the key to another afterwards does not wash the proposal.
    ApiKey.objects.update(owner=world.owner)
    with pytest.raises(SelfApproval):
        approve(world, review)

    decide_as(world, review, Verdict.REJECT)
    assert Review.objects.get().status == "rejected"
    assert world.findings() == []


def test_a_decision_on_something_else_than_was_shown_is_refused(world: World) -> None:
    world.remember("Alice moved to Oslo", approval_required=True)
    with pytest.raises(StaleProposal):
        approve(world, world.pending_review(), shown="0" * 64)
    assert world.recall("Oslo") == []


def test_a_forget_whose_target_changed_meanwhile_is_refused_and_nothing_is_applied(
    world: World,
) -> None:
    kept, gone = world.remembered("Alice sits at the aisle"), world.remembered("Bob sits left")
    world.forget(ids=[kept, gone], approval_required=True)
    review = world.pending_review()
    shown = world.shown(review)
    world.forget(ids=[gone])
    with pytest.raises(StaleProposal):
        approve(world, review, shown=shown)
    assert world.recall("where does Alice sit?") == ["Alice sits at the aisle"]


def test_the_second_of_two_decisions_learns_who_was_first(world: World) -> None:
    world.remember("Alice moved to Oslo", approval_required=True)
    review = world.pending_review()
    approve(world, review)
    with pytest.raises(AlreadyDecided, match=world.reviewer.name):
        decide_as(world, review, Verdict.REJECT)
    assert Decision.objects.count() == 1


def test_a_staged_forget_takes_nothing_until_it_is_approved(world: World) -> None:
    memory_id = world.remembered("Alice travels with Jonas")
    response = world.forget(ids=[memory_id], approval_required=True)
    assert response.status_code == 202
    assert response.json()["forgotten_ids"] == []
    assert world.recall("who travels with Alice?") == ["Alice travels with Jonas"]
    approve(world, world.pending_review())
    assert world.recall("who travels with Alice?") == []
    assert world.actions() == ["memory.remembered", "forget.staged", "memory.approved"]
    assert world.findings() == []


@pytest.mark.parametrize(
    ("conditions", "status"),
    [
        ({"source": "web"}, 202),
        ({"source": "user"}, 200),
        ({"type": "semantic"}, 202),
        ({"type": "episodic"}, 200),
        ({"operation": "remember"}, 202),
        ({"operation": "forget"}, 200),
        ({"operation": "remember", "type": "episodic", "source": "web"}, 200),
    ],
)
def test_a_rule_stops_what_every_one_of_its_conditions_matches(
    world: World, conditions: dict[str, str], status: int
) -> None:
    world.rule("review", **conditions)
    assert world.remember("Refunds take a week", source="web").status_code == status


def test_the_strictest_rule_wins_and_a_refused_write_still_leaves_an_audit_row(
    world: World,
) -> None:
    world.rule("allow", source="web")
    world.rule("review", type="semantic")
    world.rule("deny", operation="remember")
    response = world.remember("Refunds take a week", source="web")
    assert response.status_code == 403
    assert response.json()["code"] == "denied_by_policy"
    assert world.actions() == ["remember.denied"]
    assert world.recall("refunds") == []


def test_the_agents_own_wish_for_review_outlasts_an_allow_rule(world: World) -> None:
    world.rule("allow", operation="remember")
    assert world.remember("Refunds take a week", approval_required=True).status_code == 202
