"""Procedural memory: a small state machine that is only ever data.

Agents write these, and a state-machine library would resolve some of their strings to Python
callables. So nothing here is handed to one: content is read into plain values, everything that
could name code is refused, and ``step`` looks a transition up in a list.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from stores.wire import MemoryType

STATES_MAX: Final = 200
TRANSITIONS_MAX: Final = 1_000
#: As a transition's source: from every state.
ANY_STATE: Final = "*"

_PROCEDURE_KEYS: Final = frozenset(
    {"name", "description", "initial", "states", "transitions", "current", "metadata"}
)
_REQUIRED_KEYS: Final = ("name", "initial", "states", "transitions", "current")
_TRANSITION_KEYS: Final = frozenset({"trigger", "source", "dest"})
# Letters, digits, spaces, hyphens, underscores; no dot, so it cannot be an import path, and no
# leading underscore, so it cannot be a special attribute.
_NAME: Final = re.compile(r"[^\W_][\w \-]{0,127}")
# What a pytransitions model carries beside the names made from states and triggers.
_MODEL_ATTRIBUTES: Final = frozenset({"state", "trigger", "may_trigger", "machine", "model"})


class ProcedureError(ValueError):
    """The content is not a procedure we keep; the message names the place and the reason."""


class NoSuchTransition(ProcedureError):
    """The trigger does nothing in the current state."""


@dataclass(frozen=True, slots=True)
class Transition:
    trigger: str
    source: str
    dest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    name: str
    initial: str
    current: str
    states: tuple[str, ...]
    transitions: tuple[Transition, ...]
    description: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


def parse(content: str) -> Procedure:
    """Read and validate a procedure from its JSON text.

    Raises: ProcedureError.
    """
    return from_object(_strict_json(content))


def from_object(obj: Any) -> Procedure:
    """Validate a procedure given as a JSON object.

    Raises: ProcedureError.
    """
    body = _object(obj, "procedure", allowed=_PROCEDURE_KEYS, required=_REQUIRED_KEYS)
    states = _states(body["states"])
    transitions = _transitions(body["transitions"])
    procedure = Procedure(
        name=_text(body["name"], "name"),
        initial=_name(body["initial"], "initial"),
        current=_name(body["current"], "current"),
        states=states,
        transitions=transitions,
        description=_optional_text(body.get("description"), "description"),
        metadata=_metadata(body.get("metadata")),
    )
    _check_declared(procedure)
    _check_deterministic(transitions)
    _check_no_collision(procedure)
    _check_current_reachable(procedure)
    return procedure


def as_answered(memory_type: MemoryType, content: str) -> str | dict[str, Any]:
    """How recall gives content: a procedure as the object it describes, all else as it is.

    Also as it is: what came into a store by another door and is no JSON object.
    """
    if memory_type is not MemoryType.PROCEDURAL:
        return content
    try:
        machine = json.loads(content)
    except ValueError:
        return content
    return machine if isinstance(machine, dict) else content


def step(procedure: Procedure, trigger: str) -> Procedure:
    """The procedure after a trigger fired in its current state.

    Raises: NoSuchTransition.
    """
    for transition in procedure.transitions:
        if transition.trigger == trigger and transition.source in (procedure.current, ANY_STATE):
            return replace(procedure, current=transition.dest)
    raise NoSuchTransition(f"no transition {trigger!r} from state {procedure.current!r}")


# --- reading -------------------------------------------------------------------------------------


def _strict_json(content: str) -> Any:
    try:
        return json.loads(
            content, object_pairs_hook=_without_repeated_keys, parse_constant=_refuse_constant
        )
    except ProcedureError:
        raise
    except (ValueError, RecursionError) as error:
        raise ProcedureError("procedure: is not JSON") from error


def _without_repeated_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    # Two readers of a repeated key may each see another procedure.
    obj = dict(pairs)
    if len(obj) != len(pairs):
        raise ProcedureError("procedure: an object repeats a key")
    return obj


def _refuse_constant(name: str) -> Any:
    raise ProcedureError(f"procedure: {name} is not JSON")


def _object(
    obj: Any, place: str, *, allowed: frozenset[str], required: Iterable[str]
) -> dict[str, Any]:
    if not isinstance(obj, dict):
        raise ProcedureError(f"{place}: must be an object")
    for key in obj:
        if key not in allowed:
            raise ProcedureError(f"{place}: unsupported key {key!r} (callbacks are never kept)")
    for key in required:
        if key not in obj:
            raise ProcedureError(f"{place}: {key!r} is missing")
    return obj


def _states(value: Any) -> tuple[str, ...]:
    items = _list(value, "states", most=STATES_MAX)
    if not items:
        raise ProcedureError("states: needs at least one")
    states = tuple(_name(item, f"states[{index}]") for index, item in enumerate(items))
    if len(set(states)) != len(states):
        raise ProcedureError("states: one is declared twice")
    return states


def _transitions(value: Any) -> tuple[Transition, ...]:
    items = _list(value, "transitions", most=TRANSITIONS_MAX)
    return tuple(_transition(item, f"transitions[{index}]") for index, item in enumerate(items))


def _transition(value: Any, place: str) -> Transition:
    body = _object(value, place, allowed=_TRANSITION_KEYS, required=sorted(_TRANSITION_KEYS))
    source = body["source"]
    return Transition(
        trigger=_name(body["trigger"], f"{place}.trigger"),
        source=source if source == ANY_STATE else _name(source, f"{place}.source"),
        dest=_name(body["dest"], f"{place}.dest"),
    )


def _list(value: Any, place: str, *, most: int) -> list[Any]:
    if not isinstance(value, list):
        raise ProcedureError(f"{place}: must be a list")
    if len(value) > most:
        raise ProcedureError(f"{place}: holds {len(value)}, at most {most} are allowed")
    return value


def _name(value: Any, place: str) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ProcedureError(
            f"{place}: must be a name of letters, digits, spaces, '-' and '_', without dots"
        )
    return value


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ProcedureError(f"{place}: must be a text that is not blank")
    return value


def _optional_text(value: Any, place: str) -> str | None:
    return None if value is None else _text(value, place)


def _metadata(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ProcedureError("metadata: must be an object")
    return value


# --- the rules -----------------------------------------------------------------------------------


def _check_declared(procedure: Procedure) -> None:
    declared = set(procedure.states)
    named = [("initial", procedure.initial), ("current", procedure.current)]
    for index, transition in enumerate(procedure.transitions):
        named.append((f"transitions[{index}].dest", transition.dest))
        if transition.source != ANY_STATE:
            named.append((f"transitions[{index}].source", transition.source))
    for place, state in named:
        if state not in declared:
            raise ProcedureError(f"{place}: {state!r} is not among the states")


def _check_deterministic(transitions: Iterable[Transition]) -> None:
    sources: dict[str, set[str]] = defaultdict(set)
    for transition in transitions:
        taken = sources[transition.trigger]
        # "*" stands for every state, so beside it there is no room for another source.
        if transition.source in taken or (taken and ANY_STATE in taken | {transition.source}):
            raise ProcedureError(
                f"transitions: {transition.trigger!r} from {transition.source!r} is ambiguous"
            )
        taken.add(transition.source)


def _check_no_collision(procedure: Procedure) -> None:
    """A state-machine library sets these names on its model; a trigger must not replace one."""
    triggers = {transition.trigger for transition in procedure.transitions}
    generated = {
        f"{prefix}{state}"
        for state in procedure.states
        for prefix in ("is_", "to_", "may_to_", "on_enter_", "on_exit_")
    } | {f"may_{trigger}" for trigger in triggers}
    for trigger in sorted(triggers & (generated | _MODEL_ATTRIBUTES)):
        raise ProcedureError(f"transitions: the trigger {trigger!r} is a reserved name")


def _check_current_reachable(procedure: Procedure) -> None:
    if procedure.current not in _reachable(procedure):
        raise ProcedureError(
            f"current: {procedure.current!r} cannot be reached from {procedure.initial!r}"
        )


def _reachable(procedure: Procedure) -> set[str]:
    destinations: dict[str, set[str]] = defaultdict(set)
    for transition in procedure.transitions:
        destinations[transition.source].add(transition.dest)
    found: set[str] = set()
    frontier = {procedure.initial}
    while frontier:
        found |= frontier
        frontier = {
            dest for state in frontier for dest in destinations[state] | destinations[ANY_STATE]
        } - found
    return found
