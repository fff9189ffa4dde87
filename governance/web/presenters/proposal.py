"""One proposal: what changes, why it was stopped, where it comes from, what was decided."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from governance import known, review
from governance.clock import now_ms
from governance.diff import ABSENT, FieldChange, Kind, diff_fields
from governance.models import Membership, Memory, Operation, Review, ReviewStatus, Verdict
from governance.screening import codepoints
from governance.screening.codepoints import Mark
from governance.web import page
from governance.web.presenters.people import may_decide
from governance.web.presenters.reading import Reading, moment

_REMOVALS_SHOWN = 50
_EXPIRES = "expires"
VERBS = {Verdict.APPROVE.value: "approved", Verdict.REJECT.value: "rejected"}


def proposal(membership: Membership, item: Review) -> page.Proposal:
    """A proposal as a member of its workspace sees it."""
    targets = review.targets_of(item)
    reading = Reading(item, targets[0] if targets else None)
    return page.Proposal(
        review_id=item.pk,
        shown=review.shown_digest(item, targets),
        title=reading.title,
        what=_what(reading),
        risk=reading.risk,
        proposed_at=moment(item.created_at_ms),
        origin=_origin(item.operation, reading.asked),
        change=_change(reading, targets),
        flags=_flags(reading),
        effects=_effects(reading),
        approve_label=_approve_label(reading),
        verdicts=verdicts(item),
        is_pending=item.status == ReviewStatus.PENDING,
        has_moved=review.has_moved(item, targets),
        may_decide=may_decide(membership),
        is_proposer=membership.user_id in review.proposers(item.operation),
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


def _change(reading: Reading, targets: Sequence[Memory]) -> page.Addition | page.Removals | None:
    if reading.request is None or reading.first is None:
        return None
    if not reading.is_addition:
        return _removals(reading, targets)
    return None if reading.first.erased_at else _addition(reading.first, reading.hidden)


def _addition(memory: Memory, hidden: int) -> page.Addition:
    # What is decided is shown as it is: what became known later was no part of the decision.
    other = known.same_subject(memory, now_ms=now_ms()) if memory.is_pending else None
    changes = diff_fields(_fields(other) if other else {}, _fields(memory))
    return page.Addition(
        content=memory.content,
        hidden=hidden,
        fields=tuple(field_row(change) for change in changes if change.kind is not Kind.SAME),
        unchanged=tuple(field_row(change) for change in changes if change.kind is Kind.SAME),
        known=_comparison(other) if other else None,
    )


def _comparison(memory: Memory) -> page.Comparison:
    return page.Comparison(
        memory_id=memory.pk, content=memory.content, since=moment(memory.created_at)
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
        total=len(then),
        is_for_good=reading.is_for_good,
    )


def _flags(reading: Reading) -> tuple[page.Flag, ...]:
    return (
        *([_ERASURE] if reading.is_for_good else []),
        *([_hidden_flag(reading)] if reading.hidden else []),
        *map(_reason_flag, reading.review.reasons),
    )


_ERASURE = page.Flag(
    title="Erases for good",
    detail="The words cannot be brought back. The audit log keeps who decided.",
)


def _hidden_flag(reading: Reading) -> page.Flag:
    runs = codepoints.split(reading.first.content) if reading.first else ()
    spelled = "".join(run.spells for run in runs if isinstance(run, Mark))
    count = "1 character" if reading.hidden == 1 else f"{reading.hidden} characters"
    detail = f"{count} that a person would not see and a model reads."
    if spelled:
        detail += " The tag characters among them spell the words quoted here."
    return page.Flag(title="Hidden text", detail=detail, quote=spelled)


def _reason_flag(reason: Mapping[str, Any]) -> page.Flag:
    if reason["kind"] == "rule":
        return page.Flag(
            title=f"Rule “{reason['rule']}”",
            detail=f"Version {reason['version']} of this rule asks for a person.",
        )
    return page.Flag(title="The agent asked", detail="It wants a person to look at this first.")


def _effects(reading: Reading) -> tuple[str, ...]:
    if reading.is_addition:
        return ("Applies at once", "Adds 1 memory", "Can be forgotten later")
    if reading.is_for_good:
        return (f"Erases {reading.memories} from the ledger and every store", "Cannot be undone")
    return (f"Takes {reading.memories} out of recall at once", "The words stay in the ledger")


def _approve_label(reading: Reading) -> str:
    if reading.is_addition:
        return "Approve"
    verb = "erase" if reading.is_for_good else "forget"
    return f"Approve and {verb} {len(reading.review.targets)}"
