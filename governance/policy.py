"""Which writes stop: pure, from what is known of a write and the workspace's rules."""

from collections.abc import Iterable
from dataclasses import dataclass

from governance.models import Effect, Rule
from stores import filters
from stores.wire import MemoryRecord

_STRICTNESS = {Effect.ALLOW: 0, Effect.REVIEW: 1, Effect.DENY: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """What rules can see of a write."""

    operation: str
    agent_id: str
    memories: tuple[MemoryRecord, ...]
    """What is written, or everything that would be touched."""
    asked_for_review: bool
    """The agent itself set ``approval_required``."""
    flags: frozenset[str] = frozenset()
    """Codes of what the detectors found in the text that is written."""


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
        and rule.agent_id in {"", write.agent_id}
        and (not rule.flag or rule.flag in write.flags)
        and (not _asks_of_memories(rule) or any(_holds(rule, each) for each in write.memories))
    )


def _asks_of_memories(rule: Rule) -> bool:
    """Whether a write that touches no memory at all could not match."""
    return bool(
        rule.type
        or rule.user_id
        or rule.source
        or rule.metadata
        or rule.confidence_below is not None
    )


def _holds(rule: Rule, memory: MemoryRecord) -> bool:
    """Whether one memory meets all that the rule asks of memories."""
    return (
        rule.type in {"", memory.type.value}
        and rule.user_id in {"", memory.user_id}
        and rule.source in {"", memory.source}
        and (rule.confidence_below is None or memory.confidence < rule.confidence_below)
        and (not rule.metadata or filters.matches(filters.parse(rule.metadata), memory))
    )
