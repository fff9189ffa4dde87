"""What a rule says, as a value; and whether it can be said."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from governance.errors import FieldError, Invalid
from governance.models import Effect, OperationKind
from governance.models.rule import TERMS, RuleTerms
from governance.screening import FlagCode
from stores import filters
from stores.wire import MemoryType, limits

NAME_MAX = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """An effect, and the conditions that a write must meet; an empty one holds always."""

    effect: str
    operation: str = ""
    type: str = ""
    agent_id: str = ""
    user_id: str = ""
    source: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    confidence_below: float | None = None
    flag: str = ""
    enabled: bool = True

    @classmethod
    def of(cls, rule: RuleTerms) -> "Terms":
        """What a rule says, or one of its versions."""
        return cls(**{name: getattr(rule, name) for name in TERMS})


def check(name: str, terms: Terms) -> None:
    """Raises: Invalid, naming each field that cannot be."""
    problems = tuple(_problems(name, terms))
    if problems:
        raise Invalid(" ".join(problem.message for problem in problems), errors=problems)


def _problems(name: str, terms: Terms) -> Iterator[FieldError]:
    if not name.strip() or len(name) > NAME_MAX:
        yield _problem("name", f"A name has 1 to {NAME_MAX} characters.")
    if terms.effect not in Effect.values:
        yield _problem("effect", f"The effect is one of {', '.join(Effect.values)}.")
    yield from _unknown("operation", terms.operation, OperationKind.values)
    yield from _unknown("type", terms.type, [kind.value for kind in MemoryType])
    yield from _unknown("flag", terms.flag, [code.value for code in FlagCode])
    yield from _too_long("agent_id", terms.agent_id, limits.AGENT_ID_MAX)
    yield from _too_long("user_id", terms.user_id, limits.USER_ID_MAX)
    yield from _too_long("source", terms.source, limits.SOURCE_MAX)
    if terms.confidence_below is not None and not 0 < terms.confidence_below <= 1:
        yield _problem("confidence_below", "Confidence lies above 0 and up to 1.")
    if terms.flag and terms.operation not in {"", OperationKind.REMEMBER}:
        yield _problem("flag", "Only what is remembered is screened.")
    if not isinstance(terms.metadata, dict):
        yield _problem("metadata", "A filter is a JSON object.")
        return
    try:
        filters.parse(terms.metadata)
    except filters.FilterError as error:
        yield _problem("metadata", f"The filter cannot be read: {error}.")


def _unknown(where: str, value: str, known: list[str]) -> Iterator[FieldError]:
    if value and value not in known:
        yield _problem(where, f"The {where} is one of {', '.join(known)}.")


def _too_long(where: str, value: str, longest: int) -> Iterator[FieldError]:
    if len(value) > longest:
        yield _problem(where, f"This is longer than {longest} characters.")


def _problem(where: str, message: str) -> FieldError:
    return FieldError(field=where, code="rule_invalid", message=message)
