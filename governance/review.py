"""Proposals: staging what a person must decide, and the queue of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from governance import sealing
from governance.known import Known, about
from governance.models import (
    Membership,
    Memory,
    Operation,
    OperationKind,
    Review,
    ReviewStatus,
    Risk,
)
from governance.models.insert import insert
from governance.screening import FlagCode
from stores.wire import ForgetRequest, MergeRequest, RememberRequest

#: Flags that need the most care, whatever stopped the proposal.
_GRAVE = frozenset({FlagCode.HIDDEN_TEXT, FlagCode.LOOK_ALIKE, FlagCode.SECRET})


def fingerprint(
    workspace_id: str, kind: str, proposer_id: int | None, request: dict[str, Any]
) -> str:
    """A keyed digest that is equal for equal requests of one proposer."""
    return sealing.workspace_digest(
        workspace_id, {"kind": kind, "proposer": proposer_id, "request": request}
    )


def find_pending(workspace_id: str, mark: str) -> Review | None:
    """The review already waiting for this very request, if there is one."""
    return (
        Review.objects.filter(
            workspace_id=workspace_id, fingerprint=mark, status=ReviewStatus.PENDING
        )
        .select_related("operation")
        .first()
    )


def risk_of(
    request: RememberRequest | ForgetRequest | MergeRequest,
    reasons: Sequence[Mapping[str, object]],
    flags: Collection[str],
) -> Risk:
    """High: words would be lost for good, hide something or give a secret away. Medium: a rule."""
    if isinstance(request, ForgetRequest) and request.hard_delete:
        return Risk.HIGH
    if not _GRAVE.isdisjoint(flags):
        return Risk.HIGH
    stopped_by_rule = any(reason["kind"] == "rule" for reason in reasons)
    return Risk.MEDIUM if stopped_by_rule else Risk.LOW


def stage(
    operation: Operation,
    *,
    review_id: str,
    mark: str,
    reasons: Sequence[dict[str, object]],
    risk: Risk,
    flags: Collection[str],
    targets: Sequence[Memory],
    now_ms: int,
) -> Review:
    """Open a review of an operation, bound to the versions it would change."""
    review = Review(
        id=review_id,
        workspace_id=operation.workspace_id,
        operation=operation,
        reasons=list(reasons),
        risk=risk,
        flags=sorted(flags),
        targets=[{"id": memory.pk, "version": memory.version} for memory in targets],
        fingerprint=mark,
        created_at_ms=now_ms,
    )
    insert(review)
    return review


def _targets_of(review: Review) -> list[Memory]:
    """The memories a review would change, in its order; one query."""
    ids = [target["id"] for target in review.targets]
    found = Memory.objects.select_related("seal_key").in_bulk(ids)
    return [found[pk] for pk in ids if pk in found]


def requested(operation: Operation) -> dict[str, Any] | None:
    """What was asked, opened; None once its words were erased."""
    key = sealing.data_key(operation.seal_key)
    return None if key is None else dict(key.open(bytes(operation.sealed_request)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a decision rests on, as it is at this moment.

    ``digest`` covers all of it: the sealed request's bytes, and the version of every memory that
    the proposal would change or is compared with. A page carries it; a decision made on another
    one is refused as stale.
    """

    targets: Sequence[Memory]
    known: Known
    has_moved: bool
    """A target changed since the proposal was made."""
    digest: str


def case_of(review: Review, *, now_ms: int) -> Case:
    """Read what a decision rests on; at most three queries."""
    targets = _targets_of(review)
    then = [(target["id"], target["version"]) for target in review.targets]
    adds = review.operation.kind == OperationKind.REMEMBER
    # What was decided stays as it was: what became known later was no part of the decision.
    open_addition = adds and bool(targets) and targets[0].is_pending
    known = about(targets[0], now_ms=now_ms) if open_addition else Known()
    return Case(
        targets=targets,
        known=known,
        has_moved=then != [(memory.pk, memory.version) for memory in targets],
        digest=_digest(review, targets, known),
    )


def _digest(review: Review, targets: Sequence[Memory], known: Known) -> str:
    return sealing.workspace_digest(
        review.workspace_id,
        {
            "review": review.pk,
            "request": bytes(review.operation.sealed_request).hex(),
            "targets": [[memory.pk, memory.version] for memory in targets],
            "known": [[memory.pk, memory.version] for memory in known.memories],
        },
    )


def queue(membership: Membership, *, limit: int = 200) -> list[Review]:
    """What waits for a member to see, the most risk and then the oldest first; one query."""
    return list(
        _waiting(membership)
        .select_related("operation__api_key", "operation__seal_key", "operation__proposer")
        .order_by("risk", "created_at_ms", "pk")[:limit]
    )


def waiting(membership: Membership) -> int:
    """How many proposals wait that a member sees."""
    return _waiting(membership).count()


def _waiting(membership: Membership) -> QuerySet[Review]:
    reviews = Review.objects.filter(
        workspace_id=membership.workspace_id, status=ReviewStatus.PENDING
    )
    if membership.agents is None:
        return reviews
    return reviews.filter(operation__agent_id__in=membership.agents)


def proposers(operation: Operation) -> set[int | None]:
    """Whoever owned the key when it asked, and whoever owns it now: they cannot approve."""
    return {operation.proposer_id, operation.api_key.owner_id if operation.api_key else None}
