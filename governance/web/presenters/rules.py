"""The rules, each in a plain sentence, and the form that makes them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from governance import rules
from governance.errors import GovernanceError
from governance.models import Effect, OperationKind, Rule, RuleVersion
from governance.models.rule import RuleTerms
from governance.screening import EXPLANATIONS, FlagCode
from governance.web.presenters.forms import Choice, Field
from governance.web.presenters.reading import moment
from stores.wire import MemoryType

EFFECTS = (
    Choice(Effect.REVIEW.value, "Wait for a person"),
    Choice(Effect.DENY.value, "Deny"),
    Choice(Effect.ALLOW.value, "Allow"),
)
_OPERATIONS = tuple(Choice(kind.value, kind.label) for kind in OperationKind)
_TYPES = tuple(Choice(kind.value, kind.value.capitalize()) for kind in MemoryType)
_FLAGS = tuple(Choice(code.value, f"A text {EXPLANATIONS[code]}") for code in FlagCode)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """One rule in the list, or one of its versions."""

    rule_id: int
    name: str
    version: int
    sentence: str
    effect: str
    enabled: bool
    changed_at: datetime
    changed_by: str


def row(rule: Rule, version: RuleVersion) -> RuleRow:
    """A version of a rule; the last one is the rule as it stands."""
    return RuleRow(
        rule_id=rule.pk,
        name=rule.name,
        version=version.number,
        sentence=rules.sentence(rules.Terms.of(version)),
        effect=version.effect,
        enabled=version.enabled,
        changed_at=moment(version.changed_at_ms),
        changed_by=version.changed_by,
    )


def listed(workspace_id: str) -> list[RuleRow]:
    """Every rule of a workspace as it stands, those in force first; two queries."""
    found = Rule.objects.filter(workspace_id=workspace_id).prefetch_related("versions")
    rows = [row(rule, max(rule.versions.all(), key=lambda each: each.number)) for rule in found]
    return sorted(rows, key=lambda each: (not each.enabled, each.name.casefold()))


def versions(rule: Rule) -> list[RuleRow]:
    """What a rule said over time, newest first; one query."""
    return [row(rule, version) for version in rule.versions.order_by("-number")]


def values_of(rule: RuleTerms) -> dict[str, str]:
    """What the form says of a rule that exists."""
    below = rule.confidence_below
    return {
        "effect": rule.effect,
        "operation": rule.operation,
        "type": rule.type,
        "agent_id": rule.agent_id,
        "user_id": rule.user_id,
        "source": rule.source,
        "confidence_below": "" if below is None else f"{below:g}",
        "flag": rule.flag,
        "metadata": json.dumps(rule.metadata, ensure_ascii=False) if rule.metadata else "",
    }


def fields(values: Mapping[str, str], refusal: GovernanceError | None) -> Sequence[Field]:
    """The conditions as form fields, filled, each with what is wrong with it."""
    problems = {each.field: each.message for each in refusal.errors} if refusal else {}

    def field(
        name: str,
        label: str,
        *,
        hint: str = "",
        kind: str = "text",
        choices: tuple[Choice, ...] = (),
    ) -> Field:
        return Field(
            name=name,
            label=label,
            value=values.get(name, ""),
            hint=hint,
            kind=kind,
            choices=choices,
            problem=problems.get(name, ""),
        )

    any_operation = Choice("", "Any operation")
    return (
        field(
            "operation",
            "Operation",
            choices=(any_operation, *_OPERATIONS),
            hint="Expire cannot wait for a person: a rule that asks for one denies it.",
        ),
        field("type", "Memory type", choices=(Choice("", "Any type"), *_TYPES)),
        field("agent_id", "Agent", hint="Its id, exactly."),
        field("user_id", "User", hint="Whom the memory is about: the id, exactly."),
        field("source", "Source", hint="As the agent names it, exactly."),
        field("confidence_below", "Confidence below", hint="For example 0.5.", kind="number"),
        field(
            "flag",
            "Screening finds",
            choices=(Choice("", "Anything or nothing"), *_FLAGS),
            hint="Looks at what is remembered only.",
        ),
        field(
            "metadata",
            "Filter",
            kind="json",
            hint='On metadata, as recall takes it. For example {"team": "red"}.',
        ),
    )
