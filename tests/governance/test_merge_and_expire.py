"""merge and expire through the server."""

import pytest

from governance.clock import now_ms
from governance.models import AuditRow, Memory, MemoryVector
from stores.wire import limits
from tests.governance.test_thread import approve
from tests.profiles import PRIMARY
from tests.world import World

DAY_MS = 86_400_000


def merge(world: World, canonical: str, *duplicates: str, **extra: object):
    body = {"agent_id": "concierge", "canonical": canonical, "duplicates": list(duplicates)}
    return world.post("/v0/merge", body | extra)


def expire(world: World, policy: object, **extra: object):
    return world.post("/v0/expire", {"agent_id": "concierge", "policy": policy, **extra})


# --- merge


def test_keep_canonical_drops_the_duplicates_and_their_ids_mean_the_survivor(world: World) -> None:
    kept = world.remembered("Alice sits at the aisle")
    gone = [world.remembered("Alice wants an aisle seat"), world.remembered("aisle for Alice")]
    answer = merge(world, kept, *gone).json()
    assert answer == {
        "canonical": kept,
        "merged_count": 2,
        "strategy_used": "keep_canonical",
        "stores": [PRIMARY],
        "pending_approval": False,
        "approval_url": None,
    }
    assert world.recall("where does Alice sit?") == ["Alice sits at the aisle"]
    assert world.forget(ids=[gone[0]]).json()["forgotten_ids"] == [kept]
    assert world.recall("where does Alice sit?") == []
    assert world.findings() == []


def test_m11_merged_content_is_found_by_its_vector_and_the_log_tells_what_went_in(
    world: World,
) -> None:
    kept = world.remembered("Alice sits at the aisle", metadata={"seat": "aisle"}, confidence=0.4)
    gone = world.remembered("She is allergic to peanuts", metadata={"allergy": "nuts"})
    assert merge(world, kept, gone, strategy="merge_content").status_code == 200
    (hit,) = world.recall_hits("peanut allergy")
    assert hit["content"] == "Alice sits at the aisle\nShe is allergic to peanuts"
    assert hit["metadata"] == {"seat": "aisle", "allergy": "nuts"}
    assert MemoryVector.objects.filter(memory_id=kept).count() == 2
    row = AuditRow.objects.filter(action="memory.merged", memory_id=kept).get()
    before = AuditRow.objects.filter(memory_id=gone, memory_version=1).get()
    assert row.facts["into"] == kept
    assert row.facts["before"][gone] == before.state_digest
    assert world.findings() == []


def test_memories_can_be_named_by_their_entity(world: World) -> None:
    kept = world.remembered("Alice sits at the aisle", metadata={"entity_name": "Alice Smith"})
    world.remembered("A. Smith: aisle", metadata={"entity": "alice"})
    answer = merge(world, "Alice Smith", "alice").json()
    assert (answer["canonical"], answer["merged_count"]) == ("Alice Smith", 1)
    assert [hit["id"] for hit in world.recall_hits("Alice")] == [kept]


def test_an_entity_that_is_no_text_names_nothing_and_is_in_nobodys_way(world: World) -> None:
    for odd in (["Alice"], {"name": "Alice"}, 3, None, True):
        world.remembered("odd", metadata={"entity": odd, "entity_name": odd})
    world.remembered("Alice sits at the aisle", metadata={"entity": "Alice"})
    world.remembered("Alice Smith", metadata={"entity": "Alice Smith"})
    assert merge(world, "Alice", "Alice Smith").json()["merged_count"] == 1
    assert merge(world, "Alice", "3").status_code == 404


def test_m03_a_merge_is_refused_whole_when_anything_is_missing(world: World) -> None:
    first, second = world.remembered("one"), world.remembered("two")
    assert merge(world, "does-not-exist", first, second).status_code == 404
    assert merge(world, first, second, "does-not-exist").status_code == 404
    assert Memory.objects.filter(deleted_at=None).count() == 2
    assert world.actions() == ["memory.remembered"] * 2


@pytest.mark.parametrize("named", [["one", "one"], ["one", "two", "two"]])
def test_a_memory_named_twice_is_refused(world: World, named: list[str]) -> None:
    ids = {name: world.remembered(name) for name in ("one", "two")}
    answer = merge(world, *(ids[name] for name in named))
    assert (answer.status_code, answer.json()["code"]) == (422, "merge_repeated")


def test_memories_of_different_users_or_with_an_ambiguous_name_are_not_merged(
    world: World,
) -> None:
    alice = world.remembered("tea", user_id="alice", metadata={"entity": "drink"})
    bob = world.remembered("coffee", user_id="bob", metadata={"entity": "drink"})
    assert merge(world, alice, bob).json()["code"] == "merge_users_differ"
    assert merge(world, alice, "drink").json()["code"] == "merge_ambiguous"


def test_another_tenants_memory_is_not_merged(world: World) -> None:
    mine = world.remembered("mine")
    other = World.create("other")
    theirs = other.remembered("theirs")
    assert merge(other, theirs, mine).status_code == 404
    assert merge(world, mine, theirs).status_code == 404
    assert world.recall("mine") == ["mine"]


def test_a_merge_can_wait_for_a_person(world: World) -> None:
    kept, gone = world.remembered("Alice likes tea"), world.remembered("Alice likes milk")
    answer = merge(world, kept, gone, strategy="merge_content", approval_required=True)
    assert answer.status_code == 202
    assert answer.json()["merged_count"] == 0
    assert len(world.recall("what does Alice like?")) == 2
    approve(world, world.pending_review())
    assert world.recall("what does Alice like?") == ["Alice likes tea\nAlice likes milk"]
    assert world.findings() == []


def test_procedures_are_not_joined_into_something_that_is_none(world: World) -> None:
    machine = '{"name": "%s", "initial": "a", "states": ["a"], "transitions": [], "current": "a"}'
    ids = [world.remembered(machine % name, type="procedural") for name in ("one", "two")]
    answer = merge(world, *ids, strategy="merge_content")
    assert (answer.status_code, answer.json()["code"]) == (422, "procedure_invalid")
    assert Memory.objects.filter(deleted_at=None).count() == 2


# --- expire


@pytest.fixture
def aged(world: World) -> World:
    """Memories of ten days, five days and today."""
    for text, days in (("ten days", 10), ("five days", 5), ("today", 0)):
        created_at = now_ms() - days * DAY_MS - 1_000
        world.remembered(text, created_at=created_at, confidence=0.9 - days / 20)
    return world


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        ({"older_than_days": 7}, ["five days", "today"]),
        ({"older_than_days": 3}, ["today"]),
        ({"confidence_below": 0.5}, ["five days", "today"]),
        ({"older_than_days": 3, "confidence_below": 0.5}, ["five days", "today"]),
        ({"type": "episodic"}, ["five days", "ten days", "today"]),
        ({"no_recall_in_days": 7}, ["five days", "today"]),
    ],
)
def test_all_conditions_must_hold(aged: World, policy: dict[str, object], left: list[str]) -> None:
    answer = expire(aged, policy).json()
    assert answer["matched_count"] == 3 - len(left)
    assert sorted(aged.recall("which day?")) == left
    assert aged.findings() == []


def test_a_recalled_memory_counts_as_used(aged: World) -> None:
    assert aged.recall("ten days", k=1) == ["ten days"]
    expire(aged, {"no_recall_in_days": 3})
    assert sorted(aged.recall("which day?")) == ["ten days", "today"]


def test_archived_memories_leave_recall_and_stay_in_the_ledger(aged: World) -> None:
    assert (
        expire(aged, {"older_than_days": 7}, action="archive").json()["action_taken"] == "archive"
    )
    assert sorted(aged.recall("which day?")) == ["five days", "today"]
    archived = Memory.objects.get(archived_at__isnull=False)
    assert (archived.content, archived.deleted_at) == ("ten days", None)
    assert aged.findings() == []


def test_a_demoted_memory_scores_a_quarter_and_is_demoted_once(aged: World) -> None:
    (before,) = aged.recall_hits("ten days", k=1)
    answer = expire(aged, {"older_than_days": 7}, action="demote")
    assert answer.json()["matched_count"] == 1
    hits = {hit["content"]: hit for hit in aged.recall_hits("ten days", k=3)}
    assert hits["ten days"]["score"] == pytest.approx(before["score"] / 4)
    assert expire(aged, {"older_than_days": 7}, action="demote").json()["matched_count"] == 0
    assert aged.findings() == []


@pytest.mark.parametrize("policy", [None, {}, {"older_than_days": None}, {"unknown": 1}])
def test_c21_an_empty_policy_is_refused(aged: World, policy: object) -> None:
    assert expire(aged, policy).status_code == 422
    assert len(aged.recall("which day?")) == 3


def test_where_a_rule_wants_a_review_expire_is_denied(aged: World) -> None:
    aged.rule("review", operation="expire")
    assert expire(aged, {"older_than_days": 3}).status_code == 403
    assert len(aged.recall("which day?")) == 3


# --- forget


@pytest.mark.parametrize(
    "body",
    [{}, {"ids": []}, {"filter": {}}, {"filter": {"x": None}}, {"ids": [], "filter": {}}],
)
def test_c21_forgetting_nothing_in_particular_is_refused(
    world: World, body: dict[str, object]
) -> None:
    world.remembered("still here")
    assert world.forget(**body).status_code == 422
    assert world.recall("here") == ["still here"]


def test_c21_a_filter_that_takes_many_waits_for_a_person(
    fast_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = fast_world
    from django.conf import settings

    few = settings.ENVIRONMENT.model_copy(update={"forget_review_above": 3})
    monkeypatch.setattr(settings, "ENVIRONMENT", few)
    for number in range(4):
        world.remembered(f"fact {number}", metadata={"batch": 1})
    answer = world.forget(filter={"batch": 1})
    assert answer.status_code == 202
    assert world.pending_review().reasons == [{"kind": "many", "count": 4, "limit": 3}]
    assert len(world.recall("fact")) == 4


def test_ids_and_filter_are_a_union_within_the_user(world: World) -> None:
    by_id = world.remembered("by id", user_id="alice")
    by_filter = world.remembered("by filter", user_id="alice", metadata={"old": True})
    other = world.remembered("of bob", user_id="bob", metadata={"old": True})
    answer = world.forget(ids=[by_id, other], filter={"old": True}, user_id="alice").json()
    assert answer["forgotten_ids"] == sorted([by_id, by_filter])
    assert world.recall("bob") == ["of bob"]


def test_the_limits_that_are_documented_hold(world: World) -> None:
    many = [str(number) for number in range(limits.ID_LIST_MAX + 1)]
    assert world.forget(ids=many).status_code == 422
