"""Deciding a proposal: approve or reject, by a person, once, on exactly what was shown."""

from dataclasses import dataclass, field

from governance import access, audit, compaction, effects, execution, ledger, outbox, review
from governance.clock import now_ms as clock_ms
from governance.errors import AlreadyDecided, GovernanceError, SelfApproval, StaleProposal
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
    outcome = await execution.write(_decide, ballot, now_ms=clock_ms())
    if isinstance(outcome, GovernanceError):
        raise outcome  # raised here, after the commit that keeps the refusal's audit row
    await outbox.deliver_now(outcome.parcels)
    if outcome.erased:
        await compaction.compact_ledger()
    return outcome


def _decide(ballot: Ballot, *, now_ms: int) -> Decided | GovernanceError:
    # Read inside the transaction: a role withdrawn a moment ago no longer counts.
    membership = access.membership_of(ballot.user)
    access.check_role(membership, Role.REVIEWER, Role.ADMIN)
    proposal = access.access_review(membership, ballot.review_id)
    targets = review.targets_of(proposal)
    if refusal := _refusal(ballot, membership, proposal, targets):
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
        return _approve(change, proposal, targets)
    return _reject(change, proposal, targets)


def _refusal(
    ballot: Ballot, membership: Membership, proposal: Review, targets: list[Memory]
) -> GovernanceError | None:
    if proposal.status != ReviewStatus.PENDING:
        return AlreadyDecided(_who_and_when(proposal))
    approves = ballot.verdict is Verdict.APPROVE
    if approves and ballot.user.pk in review.proposers(proposal.operation):
        return SelfApproval("You answer for the key that proposed this, so you cannot approve it.")
    stale = ballot.shown != review.shown_digest(proposal, targets)
    if stale or (approves and review.has_moved(proposal, targets)):
        return StaleProposal()
    return None


def _who_and_when(proposal: Review) -> str:
    last = proposal.decisions.select_related("person").order_by("-pk").first()
    if last is None:
        return f"It is {proposal.status}."
    verb = "approved" if last.verdict == Verdict.APPROVE else "rejected"
    return f"{last.person.label} {verb} it at {last.decided_at_ms}."


def _audit_refusal(
    ballot: Ballot,
    membership: Membership,
    proposal: Review,
    refusal: GovernanceError,
    *,
    now_ms: int,
) -> None:
    entry = audit.Entry(
        action="decision.refused",
        actor=audit.Actor.person(ballot.user),
        request_id=ballot.request_id,
        agent_id=proposal.operation.agent_id,
        operation_id=proposal.operation_id,
        review_id=proposal.pk,
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


def _approve(change: ledger.Change, proposal: Review, targets: list[Memory]) -> Decided:
    if proposal.operation.kind == OperationKind.REMEMBER:
        hard = False
        parcels = effects.publish(change, targets)
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


def _reject(change: ledger.Change, proposal: Review, targets: list[Memory]) -> Decided:
    if proposal.operation.kind == OperationKind.REMEMBER:
        ledger.end(change, targets, EndReason.REJECTED)
    else:
        # Nothing was touched: the memories stay as they are, the log says they were to go.
        entry = audit.Entry(
            action="forget.rejected",
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
