"""The rules in the browser: who may, what a form does, what it refuses, what it costs."""

import re
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from governance.models import AuditRow, Role, Rule
from tests.governance.test_query_counts import Counted, counted
from tests.permissions import ADMINS_ONLY, EVERYBODY, as_whom, browser
from tests.world import World, add_person

__all__ = ["counted"]


@pytest.fixture
def admin(world: World) -> Client:
    return browser(add_person(world.workspace, Role.ADMIN))


def add(client: Client, name: str = "web", **said: Any) -> HttpResponse:
    form = {"name": name, "effect": "review", **said}
    return client.post("/rules/new", form)  # type: ignore[return-value]


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize(
    ("method", "path", "differs"),
    [
        ("get", "/rules", {"admin elsewhere": 200}),
        ("get", "/rules/new", {"admin elsewhere": 200}),
        ("get", "/rules/{rule}", {}),
        ("post", "/rules/{rule}", {"admin": 303}),
        ("post", "/rules/{rule}/switch", {"admin": 303}),
        ("get", "/rules/{rule}/switch", dict.fromkeys(EVERYBODY, 405)),
        ("post", "/rules/new", {"admin": 303, "admin elsewhere": 303}),
    ],
)
def test_who_may(world: World, method: str, path: str, differs: dict[str, int], who: str) -> None:
    add(browser(add_person(world.workspace, Role.ADMIN)))
    address = path.format(rule=Rule.objects.get().pk)
    form = {"name": "new", "effect": "deny", "seen": "1"} if method == "post" else {}
    answer = getattr(as_whom(world, who), method)(address, form)
    assert answer.status_code == {**ADMINS_ONLY, **differs}[who]


def test_a_rule_made_in_the_browser_is_in_force_and_audited_under_its_maker(
    world: World, admin: Client
) -> None:
    answer = add(admin, source="web", operation="remember")
    page = admin.get(answer.headers["Location"]).content.decode()
    assert "Remembering any memory from the source “web” needs a person." in page
    assert "in force at version 1" in page
    row = AuditRow.objects.get(action="rule.added")
    assert (row.actor_kind, row.facts["source"]) == ("person", "web")
    assert world.remember("x", source="web").status_code == 202


def test_editing_makes_a_version_and_keeps_the_others(world: World, admin: Client) -> None:
    add(admin, source="web")
    rule = Rule.objects.get()
    admin.post(f"/rules/{rule.pk}", {"effect": "deny", "seen": "1", "confidence_below": "0.5"})
    page = admin.get(f"/rules/{rule.pk}").content.decode()
    assert "Any write of any memory with a confidence below 0.5 is denied." in page
    assert "Any write of any memory from the source “web” needs a person." in page
    assert "Save as version 3" in page


def test_switching_off_lets_writes_through_again(world: World, admin: Client) -> None:
    add(admin)
    rule = Rule.objects.get()
    admin.post(f"/rules/{rule.pk}/switch", {"on": "no", "seen": "1"})
    assert world.remember("x").status_code == 200
    assert "Switched off" in admin.get("/rules").content.decode()


def test_a_form_that_was_overtaken_is_refused_and_keeps_what_was_typed(
    world: World, admin: Client
) -> None:
    add(admin)
    rule = Rule.objects.get()
    answer = admin.post(f"/rules/{rule.pk}", {"effect": "deny", "seen": "7", "source": "typed"})
    assert answer.status_code == 409
    page = answer.content.decode()
    assert "Somebody changed this rule meanwhile" in page
    assert 'value="typed"' in page


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"confidence_below": "often"}, "This is not a number."),
        ({"metadata": "{"}, "This is not JSON."),
        ({"metadata": '{"a": {"$near": 1}}'}, "The filter cannot be read"),
        ({"effect": "perhaps"}, "The effect is one of"),
        ({"name": " "}, "A name has 1 to 150 characters."),
    ],
)
def test_a_form_that_makes_no_sense_says_what_is_wrong(
    world: World, admin: Client, said: dict[str, str], told: str
) -> None:
    answer = add(admin, **said)
    assert answer.status_code == 422
    assert told in answer.content.decode()
    assert not Rule.objects.exists()


def test_a_name_is_given_once(world: World, admin: Client) -> None:
    add(admin)
    answer = add(admin)
    assert answer.status_code == 409
    assert "already" in answer.content.decode()


def test_what_admins_type_is_text(world: World, admin: Client) -> None:
    add(admin, name="<b>\u202e", source="<img src=x>")
    for address in ("/rules", f"/rules/{Rule.objects.get().pk}"):
        page = admin.get(address).content.decode()
        assert "<img" not in page
        assert "&lt;b&gt;" in page
    assert re.search(r'class="cp">.*RLO', admin.get("/rules").content.decode())


def test_an_empty_list_teaches_what_a_rule_is_for(world: World, admin: Client) -> None:
    assert "every write is allowed" in admin.get("/rules").content.decode()


def test_only_admins_are_shown_the_way_there(world: World, admin: Client) -> None:
    assert 'href="/rules"' in admin.get("/queue").content.decode()
    assert 'href="/rules"' not in browser(world.reviewer).get("/queue").content.decode()


@pytest.mark.parametrize("rules", [1, 20])
def test_the_list_costs_the_same_however_long_it_is(
    world: World, admin: Client, counted: Counted, rules: int
) -> None:
    for number in range(rules):
        add(admin, name=f"rule {number}")
    assert counted(lambda: admin.get("/rules")) == 6
