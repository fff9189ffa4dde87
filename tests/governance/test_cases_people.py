"""Set A, of people: nobody approves what they proposed (C35), no change lacks its row (C39)."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from governance import lifecycle
from governance.clock import now_ms
from governance.models import ApiKey, AuditRow, Memory, Role, User
from tests.governance.test_pages import HTMX, decide, staged
from tests.permissions import browser
from tests.world import World


@pytest.fixture
def proposer(world: World) -> User:
    """A reviewer who also owns the key that proposes."""
    ApiKey.objects.update(owner=world.reviewer)
    return world.reviewer


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
@pytest.mark.parametrize("edited", [{}, {"content": "edited"}], ids=["as proposed", "edited"])
def test_c35_whoever_proposed_cannot_approve_by_any_form(
    world: World, proposer: User, headers: dict[str, str], edited: dict[str, str]
) -> None:
    review = staged(world, "tea")
    User.objects.filter(pk=proposer.pk).update(name="Somebody Else", email="else@example.com")
    form = {"shown": world.shown(review), "form": {"reason": "fine", **edited}}
    answer = decide(browser(proposer), review, "approve", headers=headers, **form)
    assert answer.status_code == 403
    review.refresh_from_db()
    assert review.status == "pending"
    assert world.actions()[-1] == "decision.refused"
    assert AuditRow.objects.order_by("-sequence")[0].actor_id == str(proposer.pk)


def test_c35_handing_the_key_over_afterwards_does_not_help(world: World, proposer: User) -> None:
    review = staged(world, "tea")
    ApiKey.objects.update(owner=world.owner)
    answer = decide(browser(proposer), review, "approve", shown=world.shown(review))
    assert answer.status_code == 403


def test_c35_an_agents_key_decides_nothing(world: World) -> None:
    review = staged(world, "tea")
    sent = {"verdict": "approve", "shown": world.shown(review)}
    bearer = {"Authorization": f"Bearer {world.key}"}
    asked = Client().post(f"/proposals/{review.pk}/decision", sent, headers=bearer)
    assert asked["Location"].startswith("/login")
    for path in (f"/v0/operations/{review.operation_id}", "/v0/decide", "/v0/approve"):
        assert world.post(path, sent).status_code in {404, 405}
    review.refresh_from_db()
    assert review.status == "pending"


def test_c35_rejecting_ones_own_is_allowed(world: World, proposer: User) -> None:
    review = staged(world, "tea")
    answer = decide(browser(proposer), review, "reject", shown=world.shown(review))
    assert answer.status_code == 303


def test_c35_being_admin_of_the_rules_does_not_help(world: World, proposer: User) -> None:
    proposer.membership_set.update(roles=[role.value for role in Role])
    review = staged(world, "tea")
    answer = decide(browser(proposer), review, "approve", shown=world.shown(review))
    assert answer.status_code == 403


def test_c39_a_sweep_of_500_leaves_a_row_for_each(fast_world: World) -> None:
    world, soon = fast_world, now_ms() + 60_000
    ids = {world.remembered(f"fact {number}", expires_at=soon) for number in range(500)}
    while lifecycle.sweep_expired(now_ms=soon + 1):
        pass  # some at a time, each in one transaction with its rows
    rows = AuditRow.objects.filter(action="memory.expired")
    assert {row.memory_id for row in rows} == ids
    assert rows.count() == 500
    assert world.findings() == []


def test_c39_commands_leave_rows_too(world: World) -> None:
    out = {"stdout": StringIO(), "stderr": StringIO()}
    call_command("apikey", "create", "--agents", "all", "--scopes", "recall", **out)
    call_command("rule", "add", "web", "--effect", "review", "--source", "web", **out)
    call_command("member", "add", "new@example.com", **out)
    assert world.actions() == ["apikey.created", "rule.added", "member.added"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE governance_memory SET content = 'other'",
        "UPDATE governance_memory SET deleted_at = 1",
        "UPDATE governance_memory SET agent_id = 'other'",
    ],
)
def test_c39_what_was_changed_past_the_ledger_is_found(world: World, change: str) -> None:
    world.remembered("tea")
    assert world.findings() == []
    with connection.cursor() as cursor:
        cursor.execute(change)
    assert Memory.objects.count() == 1
    assert world.findings() != []
