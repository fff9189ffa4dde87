"""The settings page: for admins, without a secret; the stores as they are at this moment."""

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from governance import outbox, stores_runtime
from governance.models import AuditRow, Delivery, Role, Workspace
from tests.permissions import ADMINS_ONLY, EVERYBODY, as_whom, browser
from tests.world import World, add_person


@pytest.fixture
def admin(world: World) -> Client:
    return browser(add_person(world.workspace, Role.ADMIN))


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize(
    ("method", "differs"),
    [("get", {"admin elsewhere": 200}), ("post", {"admin": 303, "admin elsewhere": 303})],
    ids=["get", "post"],
)
def test_who_may(world: World, method: str, differs: dict[str, int], who: str) -> None:
    answer = getattr(as_whom(world, who), method)("/settings", {"name": "Other"})
    assert answer.status_code == {**ADMINS_ONLY, **differs}[who]


def test_a_workspace_is_renamed_and_the_change_is_audited_once(world: World, admin: Client) -> None:
    for _ in range(2):
        assert admin.post("/settings", {"name": " Night shift "}).status_code == 303
    assert Workspace.objects.get(pk=world.workspace.pk).name == "Night shift"
    assert "Night shift" in admin.get("/queue").content.decode()
    row = AuditRow.objects.get()
    assert (row.action, row.facts["before"]) == ("workspace.renamed", "Acme")


@pytest.mark.parametrize("name", ["", "  ", "x" * 151])
def test_a_name_that_is_none_is_refused(world: World, admin: Client, name: str) -> None:
    assert admin.post("/settings", {"name": name}).status_code == 422
    assert Workspace.objects.get(pk=world.workspace.pk).name == "Acme"


def test_a_store_that_answers_and_holds_all_is_said_so(world: World, admin: Client) -> None:
    world.remembered("tea")
    world.recall("tea")
    page = admin.get("/settings").content.decode()
    assert "Answers" in page


def test_a_store_that_is_behind_says_how_far(world: World, admin: Client) -> None:
    world.remembered("tea")
    stores_runtime.wait(outbox.flush())
    Delivery.objects.update(delivered_version=0)
    assert "1 change to be delivered" in admin.get("/settings").content.decode()


def test_stores_that_cannot_be_opened_fail_no_page(
    world: World, admin: Client, settings: Settings
) -> None:
    stores_runtime.close()
    settings.STORE_URLS = ["sqlite-vec:///nowhere/at/all/store.sqlite3"]
    answer = admin.get("/settings")
    assert answer.status_code == 200
    assert "Does not answer" in answer.content.decode()
    stores_runtime.close()


def test_no_secret_is_on_it(world: World, admin: Client, settings: Settings) -> None:
    hidden = {
        "email_url": "smtp://u:hunter2@mail.example.org",
        "database_url": "postgresql://u:hunter2@db/x",
        "redis_url": "redis://u:hunter2@redis/0",
        "oidc_url": "https://id.example.org",
        "oidc_client_secret": "hunter2",
    }
    real = settings.ENVIRONMENT
    settings.ENVIRONMENT = real.model_copy(update=hidden)
    page = admin.get("/settings").content.decode()
    settings.ENVIRONMENT = real
    assert "PostgreSQL" in page
    assert "hunter2" not in page
