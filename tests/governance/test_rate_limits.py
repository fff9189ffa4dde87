"""How often a key may call, and what it is told of that."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django.fixtures import Settings

from governance import rate_limits
from governance.api import auth
from governance.models import ApiKey, AuditRow, Role
from governance.rate_limits import Standing
from tests import servers
from tests.permissions import ADMINS_ONLY, EVERYBODY, as_whom, browser
from tests.world import World, add_person

MINUTE_MS = 60_000


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the clock says to whoever counts: the one number in it."""
    clock = [1_800_000_000_000 + 20_000]
    monkeypatch.setattr(auth, "now_ms", lambda: clock[0])
    return clock


def limited(world: World, calls: int | None) -> None:
    ApiKey.objects.filter(workspace=world.workspace).update(calls_per_minute=calls)


def test_beyond_its_limit_a_key_waits_for_the_next_minute(world: World, at: list[int]) -> None:
    limited(world, 2)
    answers = [world.remember(f"fact {number}") for number in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert [answer["RateLimit"] for answer in answers] == [
        '"key";r=1;t=40',
        '"key";r=0;t=40',
        '"key";r=0;t=40',
    ]
    assert {answer["RateLimit-Policy"] for answer in answers} == {'"key";q=2;w=60'}
    refusal = answers[2]
    assert (refusal["Retry-After"], refusal.json()["code"]) == ("40", "too_many_calls")
    at[0] += MINUTE_MS
    assert sorted(world.recall("fact", k=5)) == ["fact 0", "fact 1"]


def test_each_key_has_its_own_count(world: World, at: list[int]) -> None:
    other = World.create("elsewhere")
    limited(world, 1)
    limited(other, 1)
    assert [world.remember("a").status_code, other.remember("a").status_code] == [200, 200]
    assert world.remember("b").status_code == 429


@pytest.mark.parametrize(("own", "expected"), [(None, '"key";q=6000;w=60'), (0, None)])
def test_a_key_without_a_limit_of_its_own_has_the_settings(
    world: World, own: int | None, expected: str | None
) -> None:
    limited(world, own)
    assert world.remember("tea").headers.get("RateLimit-Policy") == expected


def test_refusals_say_where_the_key_stands_and_who_has_no_key_is_told_nothing(
    world: World, at: list[int]
) -> None:
    assert world.post("/v0/remember", b"{")["RateLimit"].startswith('"key";r=')
    assert "RateLimit" not in world.post("/v0/remember", {}, key="mw_no_such")
    assert "RateLimit" not in world.client.get("/v0/health")


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete"])
def test_another_method_is_refused_as_everything_is(world: World, method: str) -> None:
    answer = getattr(world.client, method)("/v0/remember")
    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "method_not_allowed"


def counted(key_id: str, minute: int, processes: list[rate_limits._Shared]) -> list[int | None]:
    return [process.add(key_id, minute) for process in processes]


def test_processes_that_share_a_redis_count_together(redis: servers.RedisServer) -> None:
    both = [rate_limits._Shared(redis.url), rate_limits._Shared(redis.url)]
    assert counted("k1", 7, both) + counted("k1", 7, both) == [1, 2, 3, 4]
    assert counted("k1", 8, both) + counted("k2", 8, both) == [1, 2, 1, 2]


def test_a_redis_that_is_away_stops_nobody(world: World, settings: Settings) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(
        update={"redis_url": "redis://127.0.0.1:1/0"}
    )
    limited(world, 2)
    assert [world.remember(str(n)).status_code for n in range(3)].count(429) <= 1
    assert rate_limits._counted("k", 9) == 1
    assert rate_limits._counted("k", 9) == 2


def test_a_standing_says_when_it_is_over() -> None:
    assert not Standing(limit=2, calls=2, seconds_left=1).is_over
    assert Standing(limit=2, calls=3, seconds_left=1).is_over
    assert Standing(limit=2, calls=9, seconds_left=1).remaining == 0


@pytest.fixture
def admin(world: World) -> Client:
    return browser(add_person(world.workspace, Role.ADMIN))


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize(
    ("method", "differs"), [("get", {}), ("post", {"admin": 303})], ids=["get", "post"]
)
def test_who_may(world: World, method: str, differs: dict[str, int], who: str) -> None:
    address = f"/keys/{ApiKey.objects.get().pk}/limit"
    answer = getattr(as_whom(world, who), method)(address, {"calls_per_minute": "5"})
    assert answer.status_code == {**ADMINS_ONLY, **differs}[who]


def test_an_admin_limits_a_key_and_the_change_is_audited_once(world: World, admin: Client) -> None:
    key = ApiKey.objects.get()
    for _ in range(2):
        answer = admin.post(f"/keys/{key.pk}/limit", {"calls_per_minute": " 1 "})
        assert (answer.status_code, answer["Location"]) == (303, "/keys")
    assert "1 call a minute" in admin.get("/keys").content.decode()
    row = AuditRow.objects.get(action="apikey.limited")
    assert (row.actor_kind, row.facts["calls_per_minute"]) == ("person", 1)
    admin.post(f"/keys/{key.pk}/limit", {"calls_per_minute": ""})
    key.refresh_from_db()
    assert key.calls_per_minute is None


@pytest.mark.parametrize("typed", ["-1", "many", "1.5", "٣", "1000001", "9" * 40])
def test_what_is_no_limit_is_shown_again(world: World, admin: Client, typed: str) -> None:
    key = ApiKey.objects.get()
    answer = admin.post(f"/keys/{key.pk}/limit", {"calls_per_minute": typed})
    assert answer.status_code == 422
    assert f'value="{typed}"' in answer.content.decode()
    key.refresh_from_db()
    assert key.calls_per_minute is None


def test_the_command_limits_and_a_new_key_inherits_in_rotation(world: World) -> None:
    key = ApiKey.objects.get()
    call_command("apikey", "limit", str(key), calls_per_minute=7, stdout=StringIO())
    call_command("apikey", "rotate", str(key), stdout=StringIO(), stderr=StringIO())
    assert set(ApiKey.objects.values_list("calls_per_minute", flat=True)) == {7}
