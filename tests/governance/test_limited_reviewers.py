"""A reviewer kept to some agents: of the others there is nothing to see or decide."""

import re

import pytest
from django.test import Client

from governance.models import ApiKey, AuditRow, Membership, Review, Role, User
from tests.governance.test_pages import decide
from tests.permissions import browser
from tests.world import World, add_person

OURS, THEIRS = "mail", "concierge"


@pytest.fixture
def limited(world: World) -> User:
    person = add_person(world.workspace, Role.REVIEWER)
    Membership.objects.filter(user=person).update(agents=[OURS])
    return person


def proposed(world: World, agent: str) -> Review:
    answer = world.remember(f"what {agent} says", agent_id=agent, approval_required=True)
    return Review.objects.get(pk=answer.json()["approval_url"].rsplit("/", 1)[1])


def waiting(page: str) -> str:
    found = re.search(r"data-waiting>(\d+)<", page)
    assert found
    return found[1]


def test_only_their_agents_proposals_are_there(world: World, limited: User) -> None:
    ours, theirs = proposed(world, OURS), proposed(world, THEIRS)
    client = browser(limited)
    page = client.get("/queue").content.decode()
    assert (ours.pk in page, theirs.pk in page, waiting(page)) == (True, False, "1")
    assert waiting(client.get("/memories").content.decode()) == "1"
    changes = client.get("/queue/changes", {"cursor": "0", "open": theirs.pk}).content.decode()
    assert (ours.pk in changes, theirs.pk in changes) == (True, False)
    assert client.get(f"/proposals/{ours.pk}").status_code == 200
    assert client.get(f"/proposals/{theirs.pk}").status_code == 404


def test_they_decide_no_other_agents_proposal(world: World, limited: User) -> None:
    ours, theirs = proposed(world, OURS), proposed(world, THEIRS)
    client = browser(limited)
    assert decide(client, theirs, "approve", shown=world.shown(theirs)).status_code == 404
    assert decide(client, ours, "approve", shown=world.shown(ours)).status_code == 303
    theirs.refresh_from_db()
    assert theirs.status == "pending"


def test_memories_and_audit_rows_of_other_agents_are_not_there(world: World, limited: User) -> None:
    ours = world.remembered("ours", agent_id=OURS)
    theirs = world.remembered("theirs", agent_id=THEIRS)
    client = browser(limited)
    listed = client.get("/memories").content.decode()
    assert (ours in listed, theirs in listed) == (True, False)
    assert client.get(f"/memories/{ours}").status_code == 200
    assert client.get(f"/memories/{theirs}").status_code == 404
    for path in ("/audit", f"/audit?memory={theirs}", f"/audit?agent={THEIRS}"):
        assert f"/memories/{theirs}" not in client.get(path).content.decode()
    rows = {row.agent_id: row.sequence for row in AuditRow.objects.all()}
    assert client.get(f"/audit/{rows[OURS]}").status_code == 200
    assert client.get(f"/audit/{rows[THEIRS]}").status_code == 404


@pytest.fixture
def admin(world: World) -> Client:
    return browser(add_person(world.workspace, Role.ADMIN))


def test_an_admin_keeps_a_reviewer_to_agents_and_lets_go_again(world: World, admin: Client) -> None:
    address = f"/members/{world.reviewer.pk}"
    admin.post(address, {"roles": "reviewer", "agents": f" {OURS} \n\nnight-shift"})
    assert Membership.objects.get(user=world.reviewer).agents == [OURS, "night-shift"]
    assert "sees only" in admin.get("/members").content.decode()
    admin.post(address, {"roles": "reviewer", "agents": ""})
    assert Membership.objects.get(user=world.reviewer).agents is None
    before, after = AuditRow.objects.order_by("sequence")
    assert before.facts["agents"] == [OURS, "night-shift"]
    assert after.facts["before"]["agents"] == [OURS, "night-shift"]


@pytest.mark.parametrize("roles", [["reviewer", "auditor"], ["admin"], []])
def test_who_may_do_more_than_review_is_kept_to_no_agents(
    world: World, admin: Client, roles: list[str]
) -> None:
    answer = admin.post(f"/members/{world.reviewer.pk}", {"roles": roles, "agents": OURS})
    assert answer.status_code == 422
    text = answer.content.decode()
    assert "kept to some agents" in text
    assert f">{OURS}</textarea>" in text, "what was typed is not lost"


@pytest.mark.parametrize(("said", "left"), [("revoke", 0), ("", 1)])
def test_removing_a_member_offers_to_revoke_their_keys(
    world: World, admin: Client, said: str, left: int
) -> None:
    ApiKey.objects.update(owner=world.reviewer)
    assert "Revoke the 1 valid key they answer for" in admin.get("/members").content.decode()
    admin.post(f"/members/{world.reviewer.pk}/remove", {"keys": said})
    assert ApiKey.objects.filter(revoked_at_ms__isnull=True).count() == left
    assert ("apikey.revoked" in world.actions()) is (left == 0)
