"""Django's admin: superusers look, nobody else finds it, nothing of a workspace changes there."""

import pytest
from django.apps import apps
from django.test import Client

from governance.models import AuditRow, Role, User
from governance.web.admin_site import site
from tests.permissions import EVERYBODY, as_whom, browser
from tests.world import World, add_person

TABLES = [f"/admin/governance/{model._meta.model_name}/" for model in site._registry]
OTHERS = ["/admin/", "/admin/login/", "/admin/logout/", "/admin/password_change/"]


@pytest.fixture
def operator(world: World) -> User:
    return User.objects.create_superuser("operator@example.com", "x", name="Operator")


@pytest.fixture
def theirs(operator: User) -> Client:
    return browser(operator)


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize("address", [*TABLES, *OTHERS])
def test_there_is_no_such_address_for_anybody_else(world: World, address: str, who: str) -> None:
    client = as_whom(world, who)
    assert client.get(address).status_code == 404
    assert client.post(address, {"action": "switch_off"}).status_code == 404


@pytest.mark.parametrize("address", ["/admin/", *TABLES])
def test_a_superuser_looks(world: World, theirs: Client, address: str) -> None:
    world.remembered("tea")
    assert theirs.get(address).status_code == 200


def test_every_row_can_be_opened_and_none_changed(world: World, theirs: Client) -> None:
    world.remembered("a secret text")
    for model in site._registry:
        for row in model._default_manager.all()[:2]:
            address = f"/admin/governance/{model._meta.model_name}/{row.pk}/"
            page = theirs.get(f"{address}change/")
            assert page.status_code == 200, address
            text = page.content.decode()
            assert "a secret text" not in text
            for hidden in ("digest", "password", "wrapped_key"):
                assert not getattr(row, hidden, "") or str(getattr(row, hidden)) not in text
            assert theirs.post(f"{address}change/", {"name": "x"}).status_code == 403
            assert theirs.post(f"{address}delete/", {"post": "yes"}).status_code == 403
        add = f"/admin/governance/{model._meta.model_name}/add/"
        assert theirs.post(add, {}).status_code == 403
    assert world.findings() == []


def test_bulk_deletion_is_not_offered(world: World, theirs: Client) -> None:
    world.remembered("tea")
    form = {"action": "delete_selected", "_selected_action": [AuditRow.objects.get().pk]}
    theirs.post("/admin/governance/auditrow/", form)
    assert AuditRow.objects.count() == 1


def test_no_text_of_a_memory_is_in_a_table_it_shows() -> None:
    shown = {model._meta.model_name for model in site._registry}
    assert shown.isdisjoint({"memory", "memoryversion", "operation", "sealkey", "authenticator"})
    assert apps.is_installed("django.contrib.admin")


def test_an_account_is_switched_off_and_on_and_its_workspaces_are_told(
    world: World, theirs: Client, operator: User
) -> None:
    person = add_person(world.workspace, Role.REVIEWER)
    mine = browser(person)
    chosen = {"_selected_action": [person.pk, operator.pk]}
    theirs.post("/admin/governance/user/", {"action": "switch_off", **chosen})
    assert mine.get("/queue").status_code == 302
    operator.refresh_from_db()
    assert operator.is_active, "nobody locks themselves out"
    theirs.post("/admin/governance/user/", {"action": "switch_on", **chosen})
    rows = AuditRow.objects.order_by("sequence").values_list("action", "actor_label")
    assert list(rows) == [
        ("account.switched_off", "Operator"),
        ("account.switched_on", "Operator"),
    ]
