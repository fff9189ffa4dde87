"""Which writes stop: pure, from what is known of a write and the workspace's rules."""

from collections.abc import Iterable
from dataclasses import dataclass

from governance.models import Effect, Rule

_STRICTNESS = {Effect.ALLOW: 0, Effect.REVIEW: 1, Effect.DENY: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """What rules can see of a write."""

    operation: str
    types: frozenset[str]
    """The type of what is written, or of everything that would be touched."""
    source: str | None
    asked_for_review: bool
    """The agent itself set ``approval_required``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What happens to a write and why: the strictest of the rules that match."""

    effect: Effect
    reasons: tuple[dict[str, object], ...] = ()


def rule_on(write: Write, rules: Iterable[Rule]) -> Ruling:
    """The strictest matching rule wins; no rule: allow; an agent's own wish adds review."""
    matching = [rule for rule in rules if _matches(rule, write)]
    strictest = max((_STRICTNESS[Effect(rule.effect)] for rule in matching), default=0)
    if write.asked_for_review:
        strictest = max(strictest, _STRICTNESS[Effect.REVIEW])
    effect = next(effect for effect, value in _STRICTNESS.items() if value == strictest)
    reasons: list[dict[str, object]] = [
        {"kind": "rule", "rule": rule.name, "version": rule.version}
        for rule in matching
        if rule.effect == effect != Effect.ALLOW
    ]
    if write.asked_for_review and effect is Effect.REVIEW:
        reasons.append({"kind": "agent"})
    return Ruling(effect=effect, reasons=tuple(reasons))


def _matches(rule: Rule, write: Write) -> bool:
    return (
        rule.enabled
        and rule.operation in {"", write.operation}
        and (not rule.type or rule.type in write.types)
        and rule.source in {"", write.source}
    )
