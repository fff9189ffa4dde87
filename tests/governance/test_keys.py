"""Bearer keys: scoped, expiring, revocable, never kept."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from governance import access
from governance.clock import now_ms
from governance.models import ApiKey, Scope
from tests.world import World


def make_key(*arguments: str) -> str:
    out = StringIO()
    call_command("apikey", "create", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue().strip()


@pytest.mark.parametrize(
    "token", ["", "mw_", "mw_nope", "mw_0000000000_xyz", "sk-123", "mw_\udc80", "Bearer"]
)
def test_an_unknown_key_is_401_with_the_next_step(world: World, token: str) -> None:
    response = world.client.post(
        "/v0/recall",
        b"{}",
        content_type="application/json",
        headers={"Authorization": f"Bearer {token}".encode("utf-8", "replace").decode()},
    )
    assert response.status_code == 401
    body = response.json()
    assert body["code"] == "not_authenticated"
    assert "Bearer" in body["next_step"]
    assert response["WWW-Authenticate"].startswith("Bearer")


def test_the_right_prefix_with_a_wrong_secret_is_no_key(world: World) -> None:
    assert world.remember("x", key=world.key[:-1] + "~").status_code == 401


def test_a_key_does_only_what_its_scopes_say_and_the_attempt_is_audited(world: World) -> None:
    reading = make_key("--agents", "all", "--scopes", "recall")
    assert world.recall("x", key=reading) == []
    response = world.remember("x", key=reading)
    assert (response.status_code, response.json()["code"]) == (403, "scope_missing")
    assert world.actions()[-1] == "remember.refused"


def test_a_key_is_good_for_its_agents_only(world: World) -> None:
    narrow = make_key("--agents", "a,b", "--scopes", "remember,recall")
    assert world.remember("x", key=narrow, agent_id="b").status_code == 200
    response = world.remember("x", key=narrow)
    assert (response.status_code, response.json()["code"]) == (403, "agent_not_allowed")


def test_a_revoked_key_stops_at_once(world: World) -> None:
    token = make_key("--agents", "all", "--scopes", "all")
    assert world.recall("x", key=token) == []
    call_command("apikey", "revoke", token, stdout=StringIO())
    assert world.remember("x", key=token).status_code == 401


def test_an_expired_key_is_no_key(world: World) -> None:
    _, token = access.create_key(
        world.workspace.pk,
        world.owner,
        scopes=list(Scope),
        agents=None,
        now_ms=now_ms(),
        expires_at_ms=now_ms() - 1,
    )
    assert world.remember("x", key=token).status_code == 401


def test_only_a_digest_of_a_key_is_kept(world: World) -> None:
    token = make_key("--agents", "all", "--scopes", "all")
    secret = token.split("_", 2)[2]
    assert not any(
        secret in str(value) for row in ApiKey.objects.values() for value in row.values()
    )


def test_the_owner_is_who_the_command_names(world: World) -> None:
    make_key("--agents", "all", "--scopes", "all", "--owner", world.reviewer.email)
    assert ApiKey.objects.latest("pk").owner == world.reviewer
    make_key("--agents", "all", "--scopes", "all", "--owner", "night shift")
    owner = ApiKey.objects.latest("pk").owner
    assert (owner.name, owner.is_service) == ("night shift", True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--agents", "all", "--scopes", "fly"],
        ["--agents", "", "--scopes", "recall"],
        ["--agents", "all", "--scopes", ""],
        ["--agents", "all", "--scopes", "recall", "--owner", "nobody@example.com"],
        ["--agents", "all", "--scopes", "recall", "--expires-days", "0"],
    ],
)
def test_a_key_that_makes_no_sense_is_not_made(world: World, arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        make_key(*arguments)
    assert ApiKey.objects.count() == 1


def test_the_list_names_keys_and_shows_no_secret(world: World) -> None:
    out = StringIO()
    call_command("apikey", "list", stdout=out)
    prefix, secret = world.key.rsplit("_", 1)
    assert prefix in out.getvalue()
    assert secret not in out.getvalue()
