"""Members in the browser and by command: roles given and taken, and the last admin."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from governance.models import AuditRow, Membership, Role, User
from tests.governance.test_query_counts import Counted, counted
from tests.permissions import ADMINS_ONLY, EVERYBODY, as_whom, browser
from tests.world import World, add_person

__all__ = ["counted"]


@pytest.fixture
def boss(world: World) -> User:
    return add_person(world.workspace, Role.ADMIN)


@pytest.fixture
def admin(boss: User) -> Client:
    return browser(boss)


def roles_of(person: User) -> list[str]:
    return list(Membership.objects.get(user=person).roles)


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize(
    ("method", "path", "differs"),
    [
        ("get", "/members", {"admin elsewhere": 200}),
        ("get", "/members/{person}", {}),
        ("post", "/members/{person}", {"admin": 303}),
        ("post", "/members/{person}/remove", {"admin": 303}),
    ],
)
def test_who_may(world: World, method: str, path: str, differs: dict[str, int], who: str) -> None:
    address = path.format(person=world.reviewer.pk)
    form = {"roles": "auditor"} if method == "post" else {}
    answer = getattr(as_whom(world, who), method)(address, form)
    assert answer.status_code == {**ADMINS_ONLY, **differs}[who]


def test_roles_are_changed_and_audited_with_what_they_were(
    world: World, boss: User, admin: Client
) -> None:
    admin.post(f"/members/{world.reviewer.pk}", {"roles": ["auditor", "reviewer"]})
    assert roles_of(world.reviewer) == ["reviewer", "auditor"]
    row = AuditRow.objects.get()
    assert (row.action, row.actor_id) == ("member.changed", str(boss.pk))
    assert row.facts["before"] == {"roles": ["reviewer"]}


def test_whoever_loses_every_role_sees_nothing(world: World, admin: Client) -> None:
    theirs = browser(world.reviewer)
    admin.post(f"/members/{world.reviewer.pk}", {})
    assert theirs.get("/queue").status_code == 403
    assert "no role: sees nothing" in admin.get("/members").content.decode()


def test_whoever_is_removed_sees_nothing_and_keeps_their_account(
    world: World, admin: Client
) -> None:
    theirs = browser(world.reviewer)
    admin.post(f"/members/{world.reviewer.pk}/remove")
    assert theirs.get("/queue").status_code == 403
    assert User.objects.filter(pk=world.reviewer.pk).exists()
    assert world.actions() == ["member.removed"]


@pytest.mark.parametrize("path", ["/members/{}", "/members/{}/remove"])
def test_the_last_admin_stays_one(world: World, boss: User, admin: Client, path: str) -> None:
    answer = admin.post(path.format(boss.pk), {"roles": ["reviewer"]})
    assert answer.status_code == 409
    assert "last admin" in answer.content.decode()
    assert roles_of(boss) == ["admin"]
    assert world.actions() == []


def test_an_admin_whose_account_is_off_does_not_count_as_one(
    world: World, boss: User, admin: Client
) -> None:
    sleeping = add_person(world.workspace, Role.ADMIN)
    User.objects.filter(pk=sleeping.pk).update(is_active=False)
    assert admin.post(f"/members/{boss.pk}", {"roles": []}).status_code == 409


def test_one_of_two_admins_may_go(world: World, boss: User, admin: Client) -> None:
    add_person(world.workspace, Role.ADMIN)
    assert admin.post(f"/members/{boss.pk}/remove").status_code == 303


def test_a_service_account_is_no_member_to_give_roles_to(world: World, admin: Client) -> None:
    answer = admin.post(f"/members/{world.owner.pk}", {"roles": ["admin"]})
    assert answer.status_code == 404
    assert world.owner.email not in admin.get("/members").content.decode()


def test_a_role_there_is_not_is_refused(world: World, admin: Client) -> None:
    assert admin.post(f"/members/{world.reviewer.pk}", {"roles": ["king"]}).status_code == 422
    assert roles_of(world.reviewer) == ["reviewer"]


def test_the_command_keeps_to_the_same_rules(world: World, boss: User) -> None:
    call_command("member", "add", "new@example.com", "--roles", "auditor", stdout=StringIO())
    call_command("member", "add", "new@example.com", "--roles", "reviewer", stdout=StringIO())
    assert world.actions() == ["member.added", "member.changed"]
    with pytest.raises(CommandError, match="last admin"):
        call_command("member", "remove", boss.email, stdout=StringIO())
    with pytest.raises(CommandError, match="no such member"):
        call_command("member", "remove", "nobody@example.com", stdout=StringIO())


@pytest.mark.parametrize("more", [0, 20])
def test_the_list_costs_the_same_however_long_it_is(
    world: World, admin: Client, counted: Counted, more: int
) -> None:
    for _ in range(more):
        add_person(world.workspace, Role.REVIEWER)
    assert counted(lambda: admin.get("/members")) == 7
