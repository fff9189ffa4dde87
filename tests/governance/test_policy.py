"""Which writes stop: conditions, strictness, versions; and the detectors whose flags rules name."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from governance import audit, execution, policy, rules, screening
from governance.errors import Conflict, Invalid
from governance.models import AuditRow, Effect, Review, Rule
from governance.screening import FlagCode
from stores.wire import MemoryRecord, MemoryType
from tests.world import World

HIDDEN = "pay\u200bments"
CAUSE = audit.Cause(actor=audit.Actor.system("test"), now_ms=1_700_000_000_000)


def memory(**said: Any) -> MemoryRecord:
    fields = {"content": "x", "type": MemoryType.SEMANTIC, "user_id": None, "source": None}
    fields |= {"metadata": {}, "confidence": 1.0, "id": "m", "agent_id": "concierge"}
    times = {"created_at": 0, "updated_at": 0, "expires_at": None}
    return MemoryRecord.model_construct(**{**fields, **times, **said})


def write(*memories: MemoryRecord, **said: Any) -> policy.Write:
    fields = {"operation": "remember", "agent_id": "concierge", "asked_for_review": False}
    return policy.Write(memories=memories, **{**fields, **said})


def rule(effect: str = "review", **conditions: Any) -> Rule:
    return Rule(name="r", effect=effect, **conditions)


@pytest.mark.parametrize(
    ("conditions", "matching", "other"),
    [
        ({"operation": "forget"}, write(operation="forget"), write(memory())),
        ({"agent_id": "mail"}, write(memory(), agent_id="mail"), write(memory())),
        ({"user_id": "alice"}, write(memory(user_id="alice")), write(memory())),
        ({"source": "web"}, write(memory(source="web")), write(memory(source="web2"))),
        ({"confidence_below": 0.5}, write(memory(confidence=0.49)), write(memory(confidence=0.5))),
        ({"flag": "hidden_text"}, write(memory(), flags=frozenset({"hidden_text"})), write()),
        (
            {"metadata": {"team": {"$in": ["red"]}}},
            write(memory(metadata={"team": "red"})),
            write(memory(metadata={"team": "blue"})),
        ),
    ],
)
def test_each_condition_stops_what_meets_it_and_nothing_else(
    conditions: dict[str, Any], matching: policy.Write, other: policy.Write
) -> None:
    assert policy.rule_on(matching, [rule(**conditions)]).effect == Effect.REVIEW
    assert policy.rule_on(other, [rule(**conditions)]).effect == Effect.ALLOW


def test_all_conditions_must_hold_for_one_and_the_same_memory() -> None:
    both = rule(type="semantic", source="web")
    apart = write(memory(), memory(type=MemoryType.EPISODIC, source="web"))
    assert policy.rule_on(apart, [both]).effect == Effect.ALLOW
    assert policy.rule_on(write(memory(source="web")), [both]).effect == Effect.REVIEW


def test_one_of_several_memories_that_meets_a_rule_is_enough() -> None:
    touched = write(memory(), memory(source="web"), operation="forget")
    assert policy.rule_on(touched, [rule(source="web")]).effect == Effect.REVIEW


def test_a_rule_that_is_switched_off_stops_nothing() -> None:
    assert policy.rule_on(write(memory()), [rule("deny", enabled=False)]).effect == Effect.ALLOW


def test_flags_say_where_and_why() -> None:
    found = screening.flags(f"a {HIDDEN} b")
    assert [(flag.code, flag.span) for flag in found] == [(FlagCode.HIDDEN_TEXT, (5, 6))]
    assert "ZWSP" in found[0].reason
    assert screening.flags("Alice likes tea. 👩‍👩‍👧 Привет") == ()


def test_a_text_longer_than_a_person_reads_is_flagged() -> None:
    assert screening.flags("x" * screening.OVERSIZE_CHARACTERS) == ()
    found = screening.flags("x" * (screening.OVERSIZE_CHARACTERS + 1))
    assert [flag.code for flag in found] == [FlagCode.OVERSIZE]


@pytest.mark.parametrize(
    "where", [{"content": HIDDEN}, {"source": HIDDEN}, {"metadata": {"a": [HIDDEN]}}]
)
def test_a_memory_is_screened_wherever_it_holds_text(where: dict[str, Any]) -> None:
    assert screening.codes(memory(**where)) == {"hidden_text"}


@pytest.mark.parametrize(
    ("conditions", "asked"),
    [
        ({"agent_id": "concierge"}, {}),
        ({"user_id": "alice"}, {"user_id": "alice"}),
        ({"metadata": {"team": "red"}}, {"metadata": {"team": "red"}}),
        ({"confidence_below": 0.5}, {"confidence": 0.4}),
        ({"flag": "hidden_text"}, {"source": HIDDEN}),
    ],
)
def test_a_rule_holds_a_remember_that_an_agent_sends(
    world: World, conditions: dict[str, Any], asked: dict[str, Any]
) -> None:
    world.rule("review", **conditions)
    assert world.remember("Alice likes tea", **asked).status_code == 202


def test_a_rule_about_a_user_holds_a_forget_that_reaches_their_memory(world: World) -> None:
    mine = world.remembered("Alice likes tea", user_id="alice")
    world.rule("review", operation="forget", user_id="alice")
    assert world.forget(ids=[mine]).status_code == 202


def add(world: World, name: str = "web", **terms: Any) -> Rule:
    said = rules.Terms(**{"effect": "review", **terms})
    return execution.write_sync(rules.add, world.workspace.pk, name, said, cause=CAUSE)


def test_every_change_is_a_version_that_is_kept_and_audited(world: World) -> None:
    made = add(world, source="web")
    denies = rules.Terms(effect="deny", source="web")
    execution.write_sync(rules.change, world.workspace.pk, made.pk, denies, seen=1, cause=CAUSE)
    execution.write_sync(rules.switch, world.workspace.pk, made.pk, on=False, seen=2, cause=CAUSE)
    kept = made.versions.order_by("number").values_list("number", "effect", "enabled")
    assert list(kept) == [(1, "review", True), (2, "deny", True), (3, "deny", False)]
    assert world.actions() == ["rule.added", "rule.changed", "rule.switched_off"]
    assert AuditRow.objects.get(action="rule.changed").facts["effect"] == "deny"


def test_a_review_names_the_version_that_stopped_it(world: World) -> None:
    made = add(world)
    terms = rules.Terms(effect="review", operation="remember")
    execution.write_sync(rules.change, world.workspace.pk, made.pk, terms, seen=1, cause=CAUSE)
    world.remember("Alice likes tea")
    assert Review.objects.get().reasons == [{"kind": "rule", "rule": "web", "version": 2}]


def test_of_two_who_change_a_rule_at_once_the_second_is_told(world: World) -> None:
    made = add(world)
    terms = rules.Terms(effect="deny")
    with pytest.raises(Conflict):
        execution.write_sync(rules.change, world.workspace.pk, made.pk, terms, seen=9, cause=CAUSE)
    assert made.versions.count() == 1


@pytest.mark.parametrize(
    ("field", "terms"),
    [
        ("effect", {"effect": "perhaps"}),
        ("operation", {"operation": "fly"}),
        ("type", {"type": "poetic"}),
        ("agent_id", {"agent_id": "x" * 257}),
        ("confidence_below", {"confidence_below": 1.1}),
        ("metadata", {"metadata": {"a": {"$near": 1}}}),
        ("metadata", {"metadata": [1]}),
        ("flag", {"flag": "secrets"}),
        ("flag", {"flag": "oversize", "operation": "forget"}),
    ],
)
def test_a_rule_that_cannot_be_is_refused_by_field(field: str, terms: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        rules.check("name", rules.Terms(**{"effect": "review", **terms}))
    assert [problem.field for problem in refused.value.errors] == [field]


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"effect": "deny"}, "Any write of any memory is denied."),
        (
            {"operation": "remember", "type": "episodic", "source": "web"},
            "Remembering an episodic memory from the source “web” needs a person.",
        ),
        (
            {"operation": "remember", "flag": "hidden_text", "agent_id": "a"},
            "Remembering any memory with hidden or misleading characters by the agent “a”"
            " needs a person.",
        ),
        (
            {"operation": "forget", "user_id": "al", "confidence_below": 0.5},
            "Forgetting any memory about the user “al” with a confidence below 0.5 needs a person.",
        ),
        (
            {"operation": "expire"},
            "Expiring any memory needs a person. An expire cannot wait for one, so it is denied.",
        ),
    ],
)
def test_a_rule_is_said_in_one_plain_sentence(terms: dict[str, Any], said: str) -> None:
    assert rules.sentence(rules.Terms(**{"effect": "review", **terms})) == said


def command(*arguments: str) -> str:
    out = StringIO()
    call_command("rule", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_adds_changes_lists_and_switches(world: World) -> None:
    filter_text = json.dumps({"team": "red"})
    command("add", "red", "--effect", "review", "--metadata", filter_text, "--agent", "concierge")
    command("add", "red", "--effect", "deny", "--confidence-below", "0.5")
    assert "red (version 2): Any write of any memory with a confidence below 0.5 is denied." in (
        command("list")
    )
    command("off", "red")
    assert "(off)" in command("list")
    command("on", "red")
    assert world.actions() == [
        "rule.added",
        "rule.changed",
        "rule.switched_off",
        "rule.switched_on",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["off", "nothing"],
        ["add", "x", "--effect", "deny", "--metadata", "{"],
        ["add", "x", "--effect", "deny", "--confidence-below", "7"],
    ],
)
def test_the_command_refuses_with_a_reason(world: World, arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        command(*arguments)
