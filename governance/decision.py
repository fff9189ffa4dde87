"""Deciding a proposal: approve or reject, by a person, once, on exactly what was shown."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pydantic import ValidationError

from governance import (
    access,
    audit,
    compaction,
    effects,
    execution,
    ledger,
    metrics,
    outbox,
    review,
)
from governance.clock import now_ms as clock_ms
from governance.errors import (
    AlreadyDecided,
    GovernanceError,
    Invalid,
    SelfApproval,
    StaleProposal,
)
from governance.models import (
    Decision,
    EndReason,
    Membership,
    Memory,
    OperationKind,
    OperationStatus,
    Review,
    ReviewStatus,
    Role,
    User,
    Verdict,
)
from stores.wire import MergeStrategy, RememberRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """What one person says about one proposal.

    ``shown`` is the digest the page carried (``review.shown_digest``). Who they are comes from
    the session.
    """

    user: User
    review_id: str
    verdict: Verdict
    shown: str
    reason: str = ""
    request_id: str = ""
    replaces: bool | None = None
    """Whether an approved memory replaces what is known; None: as the proposal suggests."""
    content: str | None = None
    """The text to remember instead of the proposed one; None: as proposed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A decision that stands, and what it did."""

    review_id: str
    verdict: Verdict
    memory_ids: tuple[str, ...]
    parcels: list[outbox.Parcel] = field(default_factory=list)
    erased: bool = False


async def decide(ballot: Ballot) -> Decided:
    """Apply a person's decision; when this returns, recall shows it.

    Raises: NotFound, NotAllowed (role), SelfApproval, AlreadyDecided (says who and when),
    StaleProposal (what would change is no longer what was shown; nothing was applied).
    """
    now_ms = clock_ms()
    prepared = await _prepare(ballot, now_ms=now_ms)
    outcome = await execution.write(_decide, ballot, prepared, now_ms=now_ms)
    if isinstance(outcome, GovernanceError):
        raise outcome  # raised here, after the commit that keeps the refusal's audit row
    metrics.decisions.labels(outcome.verdict.value).inc()
    await outbox.deliver_now(outcome.parcels)
    if outcome.erased:
        await compaction.compact_ledger()
    return outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What an approval needs from the model, computed before its transaction."""

    merger: effects.Merger | None = None
    edit: effects.Edit | None = None


async def _prepare(ballot: Ballot, *, now_ms: int) -> Prepared:
    """Raises: Invalid if the edited text could not have been proposed as it is."""
    if ballot.verdict is not Verdict.APPROVE:
        return Prepared()
    if ballot.content is not None:
        request = await execution.read(_edited_request, ballot)
        return Prepared(edit=await effects.prepare_edit(request) if request else None)
    read = await execution.read(_read_merge, ballot)
    if read is None:
        return Prepared()
    targets, strategy = read
    return Prepared(merger=await effects.prepare_merge(targets, strategy, now_ms=now_ms))


def _edited_request(ballot: Ballot) -> RememberRequest | None:
    """What the agent would have asked with the reviewer's text; None if nothing was changed."""
    proposal = access.access_review(access.membership_of(ballot.user), ballot.review_id)
    asked = review.requested(proposal.operation)
    if proposal.operation.kind != OperationKind.REMEMBER or asked is None:
        raise Invalid("Only what an agent wants to remember can be edited.", code="not_editable")
    if asked["content"] == ballot.content:
        return None
    try:
        return RememberRequest.model_validate({**asked, "content": ballot.content})
    except ValidationError as error:
        raise Invalid(f"The text {error.errors()[0]['msg']}.", code="edit_invalid") from error


def _read_merge(ballot: Ballot) -> tuple[list[Memory], MergeStrategy] | None:
    proposal = (
        Review.objects.filter(
            pk=ballot.review_id,
            operation__kind=OperationKind.MERGE,
            status=ReviewStatus.PENDING,
        )
        .select_related("operation__seal_key")
        .first()
    )
    if proposal is None:
        return None
    case = review.case_of(proposal, now_ms=clock_ms())
    if case.has_moved:
        return None  # refused as stale later
    asked = review.requested(proposal.operation) or {}
    return list(case.targets), MergeStrategy(asked["strategy"])


def _decide(ballot: Ballot, prepared: Prepared, *, now_ms: int) -> Decided | GovernanceError:
    # Read inside the transaction: a role withdrawn a moment ago no longer counts.
    membership = access.enter(ballot.user)
    try:
        access.check_role(membership, Role.REVIEWER, Role.ADMIN)
        proposal = access.access_review(membership, ballot.review_id)
    except GovernanceError as error:
        _audit_refusal(ballot, membership, None, error, now_ms=now_ms)
        return error
    case = review.case_of(proposal, now_ms=now_ms)
    if refusal := _refusal(ballot, proposal, case):
        _audit_refusal(ballot, membership, proposal, refusal, now_ms=now_ms)
        return refusal

    approved = ballot.verdict is Verdict.APPROVE
    _close(proposal, approved=approved, now_ms=now_ms)
    Decision.objects.create(
        review=proposal,
        person=ballot.user,
        verdict=ballot.verdict,
        reason=ballot.reason,
        decided_at_ms=now_ms,
    )
    change = ledger.Change(
        action="memory.approved" if approved else "memory.rejected",
        actor=audit.Actor.person(ballot.user),
        now_ms=now_ms,
        operation=proposal.operation,
        request_id=ballot.request_id,
        review_id=proposal.pk,
    )
    if approved:
        replaces = case.known.replaces if ballot.replaces is None else ballot.replaces
        return _approve(change, proposal, case, prepared, replaces=replaces)
    return _reject(change, proposal, case.targets)


def _refusal(ballot: Ballot, proposal: Review, case: review.Case) -> GovernanceError | None:
    if proposal.status != ReviewStatus.PENDING:
        return AlreadyDecided(_who_and_when(proposal))
    approves = ballot.verdict is Verdict.APPROVE
    if approves and ballot.user.pk in review.proposers(proposal.operation):
        return SelfApproval("You answer for the key that proposed this, so you cannot approve it.")
    if ballot.shown != case.digest or (approves and case.has_moved):
        return StaleProposal()
    return None


def _who_and_when(proposal: Review) -> str:
    last = proposal.decisions.select_related("person").order_by("-pk").first()
    if last is None:
        return f"It is {proposal.status}."
    verb = "approved" if last.verdict == Verdict.APPROVE else "rejected"
    at = datetime.fromtimestamp(last.decided_at_ms / 1000, tz=UTC)
    return f"{last.person.label} {verb} it on {at:%d %B %Y at %H:%M:%S} UTC."


def _audit_refusal(
    ballot: Ballot,
    membership: Membership,
    proposal: Review | None,
    refusal: GovernanceError,
    *,
    now_ms: int,
) -> None:
    """In the log of the person's own workspace, also when the proposal is not of it."""
    entry = audit.Entry(
        action="decision.refused",
        actor=audit.Actor.person(ballot.user),
        request_id=ballot.request_id,
        agent_id=proposal.operation.agent_id if proposal else "",
        operation_id=proposal.operation_id if proposal else "",
        review_id=ballot.review_id[:26],
        facts={"code": refusal.code, "verdict": ballot.verdict.value},
    )
    audit.append(membership.workspace_id, [entry], now_ms=now_ms)


def _close(proposal: Review, *, approved: bool, now_ms: int) -> None:
    proposal.status = ReviewStatus.APPROVED if approved else ReviewStatus.REJECTED
    proposal.decided_at_ms = now_ms
    operation = proposal.operation
    operation.status = OperationStatus.APPLIED if approved else OperationStatus.REJECTED
    operation.finished_at_ms = now_ms
    # Compare and set: of two writers on a database with many, one finds no row to change.
    changed = Review.objects.filter(pk=proposal.pk, status=ReviewStatus.PENDING).update(
        status=proposal.status, decided_at_ms=now_ms
    )
    if not changed:
        raise AlreadyDecided
    operation.save(update_fields=["status", "finished_at_ms"])


def _approve(
    change: ledger.Change,
    proposal: Review,
    case: review.Case,
    prepared: Prepared,
    *,
    replaces: bool,
) -> Decided:
    targets = case.targets
    hard = False
    if prepared.merger is not None:
        # The targets' versions were just found unmoved, so the merger computed from them holds.
        parcels = effects.merge(change, effects.check_unmoved(prepared.merger))
    elif proposal.operation.kind == OperationKind.REMEMBER:
        replaced = case.known.memories if replaces else ()
        if prepared.edit is not None:
            effects.edit(change, targets[0], prepared.edit)
        parcels = effects.publish(change, targets, replaced=replaced)
    else:
        hard = bool((review.requested(proposal.operation) or {}).get("hard_delete"))
        parcels = effects.forget(change, targets, hard=hard)
    return Decided(
        review_id=proposal.pk,
        verdict=Verdict.APPROVE,
        memory_ids=tuple(target.pk for target in targets),
        parcels=parcels,
        erased=hard,
    )


def _reject(change: ledger.Change, proposal: Review, targets: Sequence[Memory]) -> Decided:
    if proposal.operation.kind == OperationKind.REMEMBER:
        ledger.end(change, targets, EndReason.REJECTED)
    else:
        # Nothing was touched: the memories stay as they are, the log says what was asked.
        entry = audit.Entry(
            action=f"{proposal.operation.kind}.rejected",
            actor=change.actor,
            request_id=change.request_id,
            agent_id=proposal.operation.agent_id,
            operation_id=proposal.operation_id,
            review_id=proposal.pk,
            facts={"memory_ids": [target.pk for target in targets]},
        )
        audit.append(proposal.workspace_id, [entry], now_ms=change.now_ms)
    return Decided(
        review_id=proposal.pk,
        verdict=Verdict.REJECT,
        memory_ids=tuple(target.pk for target in targets),
    )
