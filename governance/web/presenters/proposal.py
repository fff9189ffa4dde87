"""One proposal: what changes, why it was stopped, where it comes from, what was decided."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from governance import effects, review, rules, screening
from governance.clock import now_ms
from governance.diff import ABSENT, FieldChange, Kind, diff_fields
from governance.known import Known
from governance.models import (
    Membership,
    Memory,
    Operation,
    Review,
    ReviewStatus,
    Role,
    RuleVersion,
    Verdict,
)
from governance.screening import FlagCode, codepoints
from governance.web import page
from governance.web.presenters.people import may_decide
from governance.web.presenters.reading import Reading, moment
from stores.wire import MergeStrategy

_REMOVALS_SHOWN = 50
_EXPIRES = "expires"
VERBS = {Verdict.APPROVE.value: "approved", Verdict.REJECT.value: "rejected"}


def proposal(membership: Membership, item: Review) -> page.Proposal:
    """A proposal as a member of its workspace sees it."""
    case = review.case_of(item, now_ms=now_ms())
    reading = Reading(item, case.targets[0] if case.targets else None)
    return page.Proposal(
        review_id=item.pk,
        shown=case.digest,
        title=reading.title,
        what=_what(reading),
        risk=reading.risk,
        proposed_at=moment(item.created_at_ms),
        origin=_origin(item.operation, reading.asked),
        change=_change(reading, case),
        flags=tuple(_flags(reading)),
        effects=_effects(reading, case),
        approve_label=_approve_label(reading, case),
        verdicts=verdicts(item),
        is_pending=item.status == ReviewStatus.PENDING,
        has_moved=case.has_moved,
        may_decide=may_decide(membership),
        is_proposer=membership.user_id in review.proposers(item.operation),
        sees_rules=membership.has(Role.ADMIN),
    )


def verdicts(item: Review) -> tuple[page.Verdict, ...]:
    """What was decided, oldest first; one query."""
    return tuple(
        page.Verdict(
            person=decision.person.label,
            verb=VERBS[decision.verdict],
            at=moment(decision.decided_at_ms),
            reason=decision.reason,
        )
        for decision in item.decisions.select_related("person").order_by("pk")
    )


def toast(item: Review, verdict: Verdict) -> page.Toast:
    """What a decision that just stood did."""
    title = Reading(item, None).short_title
    return page.Toast(review_id=item.pk, verb=VERBS[verdict.value].capitalize(), title=title)


def _what(reading: Reading) -> str:
    kind = reading.review.operation.get_kind_display()
    return f"{kind} · {reading.asked['type']}" if "type" in reading.asked else kind


def _origin(operation: Operation, asked: Mapping[str, Any]) -> page.Origin:
    return page.Origin(
        source=asked.get("source"),
        agent_id=operation.agent_id,
        user_id=operation.user_id,
        key=str(operation.api_key) if operation.api_key else "",
        owner=operation.proposer.label if operation.proposer else "",
        reason=asked.get("reason") or "",
    )


def _change(
    reading: Reading, case: review.Case
) -> page.Addition | page.Removals | page.Merger | None:
    if reading.request is None or reading.first is None:
        return None
    if reading.is_merge:
        return _merger(reading, case.targets)
    if not reading.is_addition:
        return _removals(reading, case.targets)
    return None if reading.first.erased_at else _addition(reading.first, case.known)


def _merger(reading: Reading, targets: Sequence[Memory]) -> page.Merger | None:
    """The canonical memory before and after, and those that would go."""
    if reading.review.status != ReviewStatus.PENDING or any(item.erased_at for item in targets):
        return page.Merger(survivor=None, removals=_removals(reading, targets))
    strategy = MergeStrategy(reading.asked["strategy"])
    survivor = effects.survivor_of(targets, strategy, now_ms=now_ms())
    canonical = targets[0]
    after = Memory(
        content=survivor.content,
        metadata=survivor.metadata,
        confidence=survivor.confidence,
        source=survivor.source,
        expires_at=survivor.expires_at,
    )
    known = Known(memories=[canonical], replaces=True)
    return page.Merger(
        survivor=_addition(after, known),
        removals=_removals(reading, targets[1:]),
    )


def _addition(memory: Memory, known: Known) -> page.Addition:
    other = known.memories[0] if known.memories else None
    changes = diff_fields(_fields(other) if other else {}, _fields(memory))
    return page.Addition(
        content=memory.content,
        hidden=codepoints.count(memory.content),
        fields=tuple(field_row(change) for change in changes if change.kind is not Kind.SAME),
        unchanged=tuple(field_row(change) for change in changes if change.kind is Kind.SAME),
        known=_comparison(other, known) if other else None,
    )


def _comparison(memory: Memory, known: Known) -> page.Comparison:
    return page.Comparison(
        memory_id=memory.pk,
        content=memory.content,
        since=moment(memory.created_at),
        others=len(known.memories) - 1,
        replaces=known.replaces,
    )


def _fields(memory: Memory) -> dict[str, Any]:
    """What a memory says beside its content, left out where nothing was said."""
    said = {
        "confidence": memory.confidence,
        "source": memory.source,
        _EXPIRES: memory.expires_at,
        "metadata": memory.metadata or None,
    }
    return {name: value for name, value in said.items() if value is not None}


def field_row(change: FieldChange) -> page.FieldRow:
    """One detail of a memory as pages show it."""
    return page.FieldRow(
        path=change.path,
        kind=change.kind,
        before=_value(change.path, change.before),
        after=_value(change.path, change.after),
    )


def _value(path: str, value: Any) -> page.Value | None:
    if value is ABSENT:
        return None
    if path == _EXPIRES:
        return page.Value(text="", at=moment(value))
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return page.Value(text=text)


def _removals(reading: Reading, targets: Sequence[Memory]) -> page.Removals:
    then = {target["id"]: target["version"] for target in reading.review.targets}
    is_pending = reading.review.status == ReviewStatus.PENDING
    return page.Removals(
        shown=tuple(
            page.Removal(
                memory_id=memory.pk,
                content=memory.content,
                type=memory.type,
                confidence=memory.confidence,
                since=moment(memory.created_at),
                has_moved=is_pending and memory.version != then[memory.pk],
            )
            for memory in targets[:_REMOVALS_SHOWN]
        ),
        total=len(then) - (1 if reading.is_merge else 0),
        is_for_good=reading.is_for_good,
    )


def _flags(reading: Reading) -> Iterator[page.Flag]:
    if reading.is_for_good:
        yield _ERASURE
    for code, found in reading.flags.items():
        yield _screening_flag(code, found)
    versions = _versions(reading.review)
    for reason in reading.review.reasons:
        if reason["kind"] == "rule":
            yield _rule_flag(reason, versions.get((reason["rule"], reason["version"])))
        else:
            yield _reason_flag(reason)


def _versions(item: Review) -> dict[tuple[str, int], RuleVersion]:
    """The rules that stopped it, as they were; one query, none if no rule did."""
    stopped_by = [reason for reason in item.reasons if reason["kind"] == "rule"]
    if not stopped_by:
        return {}
    found = RuleVersion.objects.filter(
        rule__workspace_id=item.workspace_id,
        rule__name__in=[reason["rule"] for reason in stopped_by],
        number__in=[reason["version"] for reason in stopped_by],
    ).select_related("rule")
    return {(version.rule.name, version.number): version for version in found}


def _rule_flag(reason: Mapping[str, Any], said: RuleVersion | None) -> page.Flag:
    return page.Flag(
        title="Rule",
        name=reason["rule"],
        version=reason["version"],
        rule_id=said.rule_id if said else None,
        sentence=rules.sentence(rules.Terms.of(said)) if said else "",
        detail=f"Version {reason['version']} of this rule asks for a person.",
    )


_ERASURE = page.Flag(
    title="Erases for good",
    detail="The words cannot be brought back. The audit log keeps who decided.",
)


_FLAG_TITLES = {
    FlagCode.HIDDEN_TEXT: "Hidden text",
    FlagCode.LOOK_ALIKE: "Look-alike letters",
    FlagCode.SECRET: "Password, key or token",
    FlagCode.OVERSIZE: "Very long",
}
_REASONS_TOLD = 3
_QUOTED_MAX = 500


def _screening_flag(code: FlagCode, found: Sequence[screening.Flag]) -> page.Flag:
    """All that one detector found: the first few reasons, and what they spell or hold."""
    told = list(dict.fromkeys(flag.reason for flag in found))
    more = f" And {len(told) - _REASONS_TOLD} more." if len(told) > _REASONS_TOLD else ""
    return page.Flag(
        title=_FLAG_TITLES[code],
        detail=" ".join(told[:_REASONS_TOLD]) + more,
        quote=" · ".join(flag.quote for flag in found if flag.quote)[:_QUOTED_MAX],
    )


def _reason_flag(reason: Mapping[str, Any]) -> page.Flag:
    if reason["kind"] == "many":
        return page.Flag(
            title=f"Takes {reason['count']} memories",
            detail=f"A forget by filter that takes more than {reason['limit']} waits for a person.",
        )
    return page.Flag(title="The agent asked", detail="It wants a person to look at this first.")


def _effects(reading: Reading, case: review.Case) -> tuple[page.Effect, ...]:
    if reading.is_addition:
        return (page.Effect("Applies at once"), *_beside(case.known), _REVERSIBLE)
    return tuple(map(page.Effect, _effects_on_what_is_there(reading, case)))


_REVERSIBLE = page.Effect("Can be forgotten later")


def _beside(known: Known) -> tuple[page.Effect, ...]:
    """What becomes of what is known, by the reviewer's choice where there is one."""
    count = len(known.memories)
    if not count:
        return (page.Effect("Adds 1 memory"),)
    replaces = f"Replaces {count} {'memory' if count == 1 else 'memories'}"
    return (
        page.Effect(replaces, choice="replace"),
        page.Effect("Adds 1 memory, changes none", choice="add"),
    )


def _effects_on_what_is_there(reading: Reading, case: review.Case) -> tuple[str, ...]:
    if reading.is_merge:
        return (f"Makes one memory of {len(case.targets)}", "Old ids then mean the one that stays")
    if reading.is_for_good:
        return (f"Erases {reading.memories} from the ledger and every store", "Cannot be undone")
    return (f"Takes {reading.memories} out of recall at once", "The words stay in the ledger")


def _approve_label(reading: Reading, case: review.Case) -> str:
    if reading.is_addition:
        return "Approve"
    if reading.is_merge:
        return f"Approve and merge {len(case.targets)}"
    verb = "erase" if reading.is_for_good else "forget"
    return f"Approve and {verb} {len(reading.review.targets)}"
