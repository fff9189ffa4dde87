"""One Idempotency-Key, one effect, one answer."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from governance import access
from governance.clock import now_ms
from governance.models import IdempotencyKey, Memory, Scope
from tests.world import World

BODY = {"agent_id": "concierge", "type": "semantic", "content": "Alice likes tea"}
KEY = {"Idempotency-Key": "retry-1"}


def test_c09_fifty_parallel_requests_store_one_memory_and_get_one_answer(
    fast_world: World,
) -> None:
    world = fast_world

    def send(_: int) -> tuple[int, bytes]:
        response = world.post("/v0/remember", BODY, **KEY)
        return response.status_code, response.content

    with ThreadPoolExecutor(10) as pool:
        answers = set(pool.map(send, range(50)))
    assert len(answers) == 1
    assert Memory.objects.count() == 1
    assert world.actions() == ["memory.remembered"]
    assert world.findings() == []


def test_a_replay_says_that_it_is_one(world: World) -> None:
    first = world.post("/v0/remember", BODY, **KEY)
    again = world.post("/v0/remember", BODY, **KEY)
    assert again.content == first.content
    assert again["Memorywire-Operation"] == first["Memorywire-Operation"]
    assert (first.get("Idempotency-Replayed"), again["Idempotency-Replayed"]) == (None, "true")


def test_c09_the_same_key_for_another_request_is_refused(world: World) -> None:
    world.post("/v0/remember", BODY, **KEY)
    other = world.post("/v0/remember", BODY | {"content": "Alice likes gin"}, **KEY)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    elsewhere = world.post("/v0/forget", {"agent_id": "concierge", "ids": ["x"]}, **KEY)
    assert elsewhere.status_code == 422
    assert Memory.objects.count() == 1


def test_c09_another_tenants_key_is_another_key(world: World) -> None:
    mine = world.post("/v0/remember", BODY, **KEY).json()
    other = World.create("other")
    theirs = other.post("/v0/remember", BODY, **KEY).json()
    assert theirs["id"] != mine["id"]


def test_a_rotated_api_key_may_finish_what_the_old_one_began(world: World) -> None:
    first = world.post("/v0/remember", BODY, **KEY)
    _, rotated = access.create_key(
        world.workspace.pk, world.owner, scopes=list(Scope), agents=None, now_ms=now_ms()
    )
    assert world.post("/v0/remember", BODY, key=rotated, **KEY).content == first.content


def test_a_denial_is_replayed_as_a_denial(world: World) -> None:
    rule = world.rule("deny", operation="remember")
    assert world.post("/v0/remember", BODY, **KEY).status_code == 403
    rule.delete()
    assert world.post("/v0/remember", BODY, **KEY).status_code == 403
    assert world.actions() == ["remember.denied"]


def test_every_write_takes_a_key(world: World) -> None:
    ids = [world.remembered(text) for text in ("one", "two", "three")]
    calls = [
        ("/v0/merge", {"agent_id": "concierge", "canonical": ids[0], "duplicates": [ids[1]]}),
        ("/v0/expire", {"agent_id": "concierge", "policy": {"older_than_days": 9}}),
        ("/v0/forget", {"agent_id": "concierge", "ids": [ids[2]]}),
    ]
    for path, body in calls:
        headers = {"Idempotency-Key": f"key for {path}".replace(" ", "-")}
        first = world.post(path, body, **headers)
        assert first.status_code == 200, first.content
        assert world.post(path, body, **headers).content == first.content
    assert world.findings() == []


def test_an_answer_whose_words_were_erased_is_not_given_again(world: World) -> None:
    memory_id = world.post("/v0/remember", BODY, **KEY).json()["id"]
    world.forget(ids=[memory_id], hard_delete=True)
    assert world.post("/v0/remember", BODY, **KEY).status_code == 409
    assert Memory.objects.count() == 1


def test_the_kept_answer_is_sealed(world: World) -> None:
    world.post("/v0/remember", BODY, **KEY)
    row = IdempotencyKey.objects.get()
    assert Memory.objects.get().pk.encode() not in bytes(row.sealed_answer)


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 256])
def test_a_key_that_is_none_is_refused(world: World, key: str) -> None:
    response = world.post("/v0/remember", BODY, **{"Idempotency-Key": key})
    assert (response.status_code, response.json()["code"]) == (422, "idempotency_key_invalid")


# --- what else a request may carry ---------------------------------------------------------------


def test_keys_the_protocol_does_not_know_are_named_and_have_no_effect(world: World) -> None:
    response = world.post("/v0/remember", BODY | {"colour": "red", "größe": 1, "a\nb": 2})
    assert response.status_code == 200
    assert response["Memorywire-Ignored"] == "colour, gr%C3%B6%C3%9Fe, a%0Ab"


def test_only_a_key_with_the_import_scope_may_choose_id_and_time(world: World) -> None:
    scopes = [scope for scope in Scope if scope is not Scope.IMPORT]
    _, narrow = access.create_key(
        world.workspace.pk, world.owner, scopes=scopes, agents=None, now_ms=now_ms()
    )
    assert world.post("/v0/remember", BODY | {"id": "my-1"}, key=narrow).status_code == 403
    past = now_ms() - 1_000_000
    assert world.post("/v0/remember", BODY | {"created_at": past}, key=narrow).status_code == 403

    response = world.post("/v0/remember", BODY | {"id": "my-1", "created_at": past})
    assert response.json()["id"] == "my-1"
    (hit,) = world.recall_hits("tea")
    assert (hit["id"], hit["created_at"]) == ("my-1", past)
    again = world.post("/v0/remember", BODY | {"id": "my-1"})
    assert (again.status_code, again.json()["code"]) == (409, "id_taken")
    assert world.findings() == []


def test_a_time_in_seconds_is_refused_with_a_hint(world: World) -> None:
    response = world.remember("x", expires_at=1_796_094_200)
    assert response.status_code == 422
    assert "millisecond" in response.json()["errors"][0]["message"]


def test_the_schemas_are_served_under_their_own_names(world: World) -> None:
    served = world.client.get("/schemas/v0/operations/remember").json()
    assert served["$id"] == "https://memorywire.dev/schemas/v0/operations/remember"
    assert world.client.get("/schemas/v0/operations/remember.json").json() == served
    for path in world.client.get("/schemas/v0/").json()["schemas"]:
        assert world.client.get(path).status_code == 200
    assert world.client.get("/schemas/v0/../settings").status_code == 404
