"""Keys in the browser and when they were used: made, shown once, rotated, revoked."""

import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client

from governance import audit, execution, key_use, keys
from governance.clock import now_ms
from governance.errors import Conflict
from governance.models import ApiKey, AuditRow, Role
from tests.governance.test_query_counts import Counted, counted
from tests.permissions import ADMINS_ONLY, EVERYBODY, as_whom, browser
from tests.world import World, add_person

__all__ = ["counted"]

DAY_MS = 86_400_000


@pytest.fixture
def admin(world: World) -> Client:
    return browser(add_person(world.workspace, Role.ADMIN))


def make(world: World, client: Client, **said: Any) -> HttpResponse:
    form = {"owner": world.owner.pk, "scopes": ["remember", "recall"], "every_agent": "yes"}
    return client.post("/keys/new", {**form, "expires": "", **said})  # type: ignore[return-value]


def token_on(answer: HttpResponse) -> str:
    found = re.search(r'id="token"[^>]* value="(mw_\w+)"', answer.content.decode())
    assert found
    return found[1]


def rotated(world: World, key: ApiKey, *, overlap_ms: int, at_ms: int) -> tuple[ApiKey, str]:
    cause = audit.Cause(actor=audit.Actor.system("test"), now_ms=at_ms)
    return execution.write_sync(
        keys.rotate, world.workspace.pk, key.pk, overlap_ms=overlap_ms, cause=cause
    )


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize(
    ("method", "path", "differs"),
    [
        ("get", "/keys", {"admin elsewhere": 200}),
        ("get", "/keys/new", {"admin elsewhere": 200}),
        ("post", "/keys/new", {"admin elsewhere": 422}),
        ("post", "/keys/{key}/rotate", {}),
        ("post", "/keys/{key}/revoke", {"admin": 303}),
        ("get", "/keys/{key}/revoke", dict.fromkeys(EVERYBODY, 405)),
    ],
)
def test_who_may(world: World, method: str, path: str, differs: dict[str, int], who: str) -> None:
    form = {"owner": world.owner.pk, "scopes": "recall", "every_agent": "yes", "expires": ""}
    sent = {**form, "overlap": "1"} if method == "post" else {}
    address = path.format(key=ApiKey.objects.get().pk)
    answer = getattr(as_whom(world, who), method)(address, sent)
    assert answer.status_code == {**ADMINS_ONLY, **differs}[who]


def test_a_key_is_shown_once_works_and_is_audited_without_its_secret(
    world: World, admin: Client
) -> None:
    answer = make(world, admin, name="night shift")
    token = token_on(answer)
    assert "no-store" in answer.headers["Cache-Control"]
    assert world.recall("x", key=token) == []
    listed = admin.get("/keys").content.decode()
    prefix, secret = token.rsplit("_", 1)
    assert prefix in listed
    assert secret not in listed
    row = AuditRow.objects.get(action="apikey.created")
    assert (row.actor_kind, row.facts["key"]) == ("person", prefix)
    assert secret not in str(row.facts)


def test_a_key_for_some_agents_is_good_for_those(world: World, admin: Client) -> None:
    token = token_on(make(world, admin, every_agent="", agents="mail\n concierge \n\n"))
    assert world.remember("x", key=token).status_code == 200
    assert world.remember("x", key=token, agent_id="other").status_code == 403


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"scopes": []}, "at least one scope"),
        ({"every_agent": "", "agents": " \n"}, "Name at least one agent"),
        ({"owner": "0"}, "Choose who answers for it"),
        ({"name": "x" * 151}, "up to 150 characters"),
    ],
)
def test_a_form_that_makes_no_sense_makes_no_key(
    world: World, admin: Client, said: dict[str, Any], told: str
) -> None:
    answer = make(world, admin, **said)
    assert answer.status_code == 422
    assert told in answer.content.decode()
    assert ApiKey.objects.count() == 1


def test_a_rotated_key_and_its_successor_both_work_for_the_overlap(
    world: World, admin: Client
) -> None:
    old = ApiKey.objects.get()
    answer = admin.post(f"/keys/{old.pk}/rotate", {"overlap": "24"})
    new = token_on(answer)
    assert world.recall("x", key=new) == world.recall("x") == []
    old.refresh_from_db()
    assert 0 < (old.expires_at_ms or 0) - now_ms() <= DAY_MS
    successor = ApiKey.objects.exclude(pk=old.pk).get()
    assert (successor.scopes, successor.agents, successor.owner_id) == (
        old.scopes,
        old.agents,
        old.owner_id,
    )
    assert "Rotated, still valid" in admin.get("/keys").content.decode()


def test_without_an_overlap_the_old_key_stops_at_once(world: World, admin: Client) -> None:
    admin.post(f"/keys/{ApiKey.objects.get().pk}/rotate", {"overlap": "0"})
    assert world.remember("x").status_code == 401


def test_an_overlap_never_lengthens_a_keys_life(world: World) -> None:
    old = ApiKey.objects.get()
    start = now_ms()
    ApiKey.objects.filter(pk=old.pk).update(created_at_ms=start - 10, expires_at_ms=start + 90)
    new, _ = rotated(world, old, overlap_ms=DAY_MS, at_ms=start)
    old.refresh_from_db()
    assert old.expires_at_ms == start + 90
    assert new.expires_at_ms == start + 100  # as long as the old one was meant to live


def test_a_key_is_rotated_once_and_only_while_it_is_valid(world: World) -> None:
    old = ApiKey.objects.get()
    rotated(world, old, overlap_ms=DAY_MS, at_ms=now_ms())
    with pytest.raises(Conflict):
        rotated(world, old, overlap_ms=DAY_MS, at_ms=now_ms())
    assert ApiKey.objects.count() == 2


def test_a_revoked_key_stops_at_once_and_stays_in_the_list(world: World, admin: Client) -> None:
    admin.post(f"/keys/{ApiKey.objects.get().pk}/revoke")
    assert world.remember("x").status_code == 401
    assert "Revoked" in admin.get("/keys").content.decode()
    assert world.actions() == ["apikey.revoked"]


@pytest.mark.parametrize("overlap", ["", "-1", "2", "x"])
def test_an_overlap_that_is_not_offered_is_refused(
    world: World, admin: Client, overlap: str
) -> None:
    address = f"/keys/{ApiKey.objects.get().pk}/rotate"
    assert admin.post(address, {"overlap": overlap}).status_code == 400


def test_the_command_rotates_too(world: World) -> None:
    out = StringIO()
    call_command("apikey", "rotate", world.key, stdout=out, stderr=StringIO())
    assert world.recall("x", key=out.getvalue().strip()) == []
    assert world.actions() == ["apikey.rotated"]


# --- when a key was last used --------------------------------------------------------------------


@pytest.fixture
def key(world: World) -> ApiKey:
    return ApiKey.objects.get()


def last_used(key: ApiKey) -> int | None:
    key.refresh_from_db()
    return key.last_used_at_ms


async def test_use_is_written_in_a_batch_and_at_most_once_a_minute(key: ApiKey) -> None:
    start = now_ms()
    key_use.note(key.pk, now_ms=start)
    assert await execution.read(last_used, key) is None  # noted, not written on the call's path
    await key_use.flush()
    assert await execution.read(last_used, key) == start
    key_use.note(key.pk, now_ms=start + 59_999)
    await key_use.flush()
    assert await execution.read(last_used, key) == start
    key_use.note(key.pk, now_ms=start + 60_000)
    await key_use.flush()
    assert await execution.read(last_used, key) == start + 60_000


async def test_use_of_many_keys_is_one_statement(key: ApiKey, counted: Counted) -> None:
    batch = {key.pk: 1, "gone": 2}
    assert await execution.read(counted, lambda: execution.write_sync(key_use._write, batch)) == 1


@pytest.mark.parametrize("more", [0, 20])
def test_the_list_costs_the_same_however_long_it_is(
    world: World, admin: Client, counted: Counted, more: int
) -> None:
    for _ in range(more):
        make(world, admin)
    assert counted(lambda: admin.get("/keys")) == 5
