"""Procedures: what is kept, what is refused, and that nothing in them ever runs."""

import json
import sys
from typing import Any

import pytest

from stores import procedures

BOOKING: dict[str, Any] = {
    "name": "book-flight",
    "initial": "searching",
    "states": ["searching", "comparing", "paying", "cancelled"],
    "transitions": [
        {"trigger": "found", "source": "searching", "dest": "comparing"},
        {"trigger": "picked", "source": "comparing", "dest": "paying"},
        {"trigger": "cancel", "source": "*", "dest": "cancelled"},
    ],
    "current": "searching",
    "metadata": {"version": "1.0.0"},
}


def refusal(**changes: Any) -> str:
    with pytest.raises(procedures.ProcedureError) as refused:
        procedures.parse(json.dumps(BOOKING | changes))
    return str(refused.value)


def with_transition(**keys: Any) -> list[dict[str, Any]]:
    return [*BOOKING["transitions"], {"trigger": "t", "source": "paying", "dest": "paying"} | keys]


def test_a_procedure_steps_through_its_states():
    procedure = procedures.parse(json.dumps(BOOKING))
    procedure = procedures.step(procedures.step(procedure, "found"), "picked")
    assert procedure.current == "paying"
    assert procedures.step(procedure, "cancel").current == "cancelled"


def test_a_trigger_without_a_transition_here_is_refused():
    with pytest.raises(procedures.NoSuchTransition):
        procedures.step(procedures.parse(json.dumps(BOOKING)), "picked")


@pytest.mark.parametrize(
    "changes",
    [
        {"before_state_change": "os.system"},
        {"transitions": with_transition(before="os.system")},
        {"transitions": with_transition(after=["subprocess.run"])},
        {"transitions": with_transition(prepare="os.abort")},
        {"transitions": with_transition(conditions="os.getpid")},
        {"transitions": with_transition(unless=["builtins.eval"])},
        {"transitions": with_transition(trigger="__class__")},
        {"transitions": with_transition(trigger="os.system")},
        {"transitions": with_transition(trigger="trigger")},
        {"transitions": with_transition(trigger="is_paying")},
        {"transitions": with_transition(trigger="may_found")},
        {"states": ["searching", {"name": "s", "on_enter": "os.abort"}]},
    ],
)
def test_whatever_could_name_code_is_refused_and_nothing_is_imported(changes: dict[str, Any]):
    imported: list[str] = []
    watching = True

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if watching and event in {"import", "os.system", "subprocess.Popen", "exec", "compile"}:
            imported.append(f"{event} {args[0]}")

    sys.addaudithook(watch)
    message = refusal(**changes)
    watching = False
    assert message
    assert imported == []


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"initial": "nowhere"}, "initial"),
        ({"current": "nowhere"}, "current"),
        ({"states": []}, "states"),
        ({"states": ["searching", "searching"]}, "states"),
        ({"states": "searching"}, "states"),
        ({"states": [f"s{n}" for n in range(201)]}, "states"),
        ({"transitions": with_transition(dest="nowhere")}, "transitions[3].dest"),
        ({"transitions": with_transition(source="nowhere")}, "transitions[3].source"),
        ({"transitions": with_transition(dest="*")}, "transitions[3].dest"),
        ({"transitions": [BOOKING["transitions"][0]] * 1001}, "transitions"),
        ({"transitions": with_transition(trigger="cancel")}, "ambiguous"),
        ({"transitions": with_transition(trigger="picked", source="comparing")}, "ambiguous"),
        ({"name": " "}, "name"),
        ({"metadata": 5}, "metadata"),
    ],
)
def test_a_broken_procedure_is_refused_with_its_place(changes: dict[str, Any], place: str):
    assert place in refusal(**changes)


def test_a_current_state_nothing_leads_to_is_refused():
    assert "cannot be reached" in refusal(states=[*BOOKING["states"], "island"], current="island")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "not json",
        "[]",
        '"text"',
        '{"name": 1, "name": 2}',
        "{}",
        "NaN",
        "[" * 100_000,
        "9" * 5_000,
    ],
)
def test_text_that_is_no_procedure_is_refused(content: str):
    with pytest.raises(procedures.ProcedureError):
        procedures.parse(content)
