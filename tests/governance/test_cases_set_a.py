"""Set A: real failures of systems like ours, those that concern the parts built so far.

C35 is in test_thread, C37 in tests/browser, C39 and M05 in test_audit, C47 in test_concurrency.
"""

import time

import pytest

from governance import lifecycle
from governance.clock import now_ms
from governance.models import Memory
from tests.profiles import PRIMARY
from tests.world import World

HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    "field", [{"expires_at": 10**30}, {"expires_at": 9_223_372_036_854_775_808}]
)
def test_c05_a_time_out_of_range_is_refused(world: World, field: dict[str, int]) -> None:
    response = world.remember("x", **field)
    assert response.status_code == 422
    assert response.json()["errors"][0]["field"] == "expires_at"
    assert Memory.objects.count() == 0


@pytest.mark.parametrize("field", [{"k": 10**30}, {"fresher_than_days": 10**18}, {"k": 0}])
def test_c05_a_recall_out_of_range_is_refused(world: World, field: dict[str, int]) -> None:
    response = world.post("/v0/recall", {"agent_id": "concierge", "query": "x", **field})
    assert response.status_code == 422


def test_c05_big_integers_in_metadata_come_back_exactly(world: World) -> None:
    world.remembered("big", metadata={"n": 12345678901234567890123})
    (hit,) = world.recall_hits("big")
    assert str(hit["metadata"]["n"]) == "12345678901234567890123"
    assert world.recall("big", filter={"n": 9223372036854775808}) == []
    assert world.recall("big", filter={"n": 12345678901234567890123}) == ["big"]


def test_c07_expiry_holds_when_read_with_no_worker_running(world: World) -> None:
    world.remembered("past", expires_at=now_ms() - 1)
    world.remembered("soon", expires_at=now_ms() + 2_000)
    world.remembered("later", expires_at=now_ms() + HOUR_MS)
    assert sorted(world.recall("past soon later")) == ["later", "soon"]
    time.sleep(2.5)
    assert world.recall("past soon later") == ["later"]

    assert lifecycle.sweep_expired(now_ms=now_ms()) == 2
    assert lifecycle.sweep_expired(now_ms=now_ms()) == 0
    assert world.actions().count("memory.expired") == 2
    assert world.findings() == []


def test_c13_another_tenants_ids_are_answered_as_if_they_did_not_exist(world: World) -> None:
    secret = world.remembered("Alice is allergic to peanuts", user_id="alice")
    pending = world.remember("Alice moved", approval_required=True)
    before = world.actions()

    other = World.create("other")
    answer = other.forget(ids=[secret])
    assert (answer.status_code, answer.json()["forgotten_ids"]) == (200, [])
    assert other.forget(ids=[pending.json()["id"]]).json()["forgotten_ids"] == []
    assert other.actions() == ["forget.not_found", "forget.not_found"]
    assert other.recall("Alice", user_id="alice") == []
    assert other.recall("Alice", filter={"agent_id": "concierge"}) == []
    operation = pending["Memorywire-Operation"]
    assert other.get(f"/v0/operations/{operation}").status_code == 404
    assert other.get("/v0/operations/01JW6Q4Z8R0000000000000000").status_code == 404

    assert world.actions() == before
    assert world.recall("what is Alice allergic to", user_id="alice") == [
        "Alice is allergic to peanuts"
    ]


def test_c13_a_reviewer_of_another_workspace_finds_no_proposal(world: World) -> None:
    import asyncio

    from governance.decision import Ballot, decide
    from governance.errors import NotFound
    from governance.models import Verdict

    world.remember("Alice moved", approval_required=True)
    review = world.pending_review()
    other = World.create("other")
    ballot = Ballot(
        user=other.reviewer, review_id=review.pk, verdict=Verdict.APPROVE, shown=world.shown(review)
    )
    with pytest.raises(NotFound):
        asyncio.run(decide(ballot))
    assert world.pending_review().pk == review.pk


def test_c19_forget_lists_only_what_it_changed_and_it_stays_gone(world: World) -> None:
    real = world.remembered("Alice likes tea")
    gone = world.remembered("Alice likes coffee")
    world.forget(ids=[gone])
    pending = world.remember("Alice likes milk", approval_required=True).json()["id"]
    answer = world.forget(ids=[real, "unknown", gone, pending]).json()
    assert answer["forgotten_ids"] == [real]
    assert answer["stores"] == [{"store": PRIMARY, "count": 1, "error": None}]
    assert world.recall("what does Alice like?") == []
    assert world.memory(pending).deleted_at == -1
    assert world.findings() == []


@pytest.mark.parametrize(
    "body",
    [
        b'{"agent_id":"concierge","type":"semantic","content":"x","metadata":{"x":NaN}}',
        b'{"agent_id":"concierge","type":"semantic","content":"x","confidence":1e400}',
        b'{"agent_id":"concierge","type":"semantic","content":"x","metadata":{"x":-Infinity}}',
    ],
)
def test_m07_numbers_that_are_none_are_refused(world: World, body: bytes) -> None:
    response = world.post("/v0/remember", body)
    assert response.status_code in {400, 422}
    assert response["Content-Type"] == "application/problem+json"
    world.remembered("fine", metadata={"k": 1})
    assert world.recall("fine", filter={"k": 1}) == ["fine"]
