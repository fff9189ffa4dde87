"""The front door: remember and forget, governed.

Every write takes the same road: check the key, compute what needs a model, then in one
transaction decide by policy and apply, stage or deny; after the commit deliver to the primary
store. ``docs/life-of-a-remember.md`` walks along it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from django.conf import settings

from governance import (
    audit,
    compaction,
    effects,
    execution,
    gate,
    ledger,
    outbox,
    policy,
    review,
    sealing,
    stores_runtime,
)
from governance.embedding import EmbeddedText, embed
from governance.errors import Denied
from governance.gate import Call
from governance.ids import new_id
from governance.models import (
    Effect,
    Memory,
    Operation,
    OperationKind,
    OperationStatus,
    Review,
    Rule,
    Scope,
)
from governance.sealing import DataKey
from stores import filters
from stores.wire import (
    ForgetRequest,
    ForgetResponse,
    RememberRequest,
    RememberResponse,
    StoreOutcome,
    WireRequest,
)

Response = TypeVar("Response", RememberResponse, ForgetResponse)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the ledger did with a write, before any store was told."""

    operation_id: str
    status: OperationStatus
    memory_ids: tuple[str, ...] = ()
    stored_at: int = 0
    parcels: list[outbox.Parcel] = field(default_factory=list)
    review_id: str = ""
    reasons: tuple[dict[str, object], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[Response]):
    """The protocol's response and the operation it belongs to."""

    response: Response
    operation_id: str

    @property
    def is_pending(self) -> bool:
        return self.response.pending_approval


async def remember(call: Call, request: RememberRequest) -> Answer[RememberResponse]:
    """Store a memory, or stage it for a person.

    Raises: NotAllowed, Denied. The refusal itself is in the audit log.
    """
    await gate.check(call, Scope.REMEMBER, request.agent_id)
    text = await embed(request.content)
    outcome = await execution.write(_remember, call, request, text)
    _raise_if_denied(outcome)
    stores = await outbox.deliver_now(outcome.parcels)
    pending = outcome.status is OperationStatus.PENDING
    return Answer(
        operation_id=outcome.operation_id,
        response=RememberResponse(
            id=outcome.memory_ids[0],
            stored_at=outcome.stored_at,
            stores=list(stores),
            pending_approval=pending,
            approval_url=approval_url(outcome.review_id) if pending else None,
        ),
    )


async def forget(call: Call, request: ForgetRequest) -> Answer[ForgetResponse]:
    """Forget memories by id or filter, or stage that for a person.

    Ids that are unknown, another's or already forgotten are not listed and not an error.
    Raises: NotAllowed, Denied, Invalid (a filter that cannot be read).
    """
    await gate.check(call, Scope.FORGET, request.agent_id)
    condition = gate.parse_filter(request.filter)
    outcome = await execution.write(_forget, call, request, condition)
    _raise_if_denied(outcome)
    pending = outcome.status is OperationStatus.PENDING
    delivered = await outbox.deliver_now(outcome.parcels)
    if request.hard_delete and not pending and outcome.memory_ids:
        await compaction.compact_ledger()
    return Answer(
        operation_id=outcome.operation_id,
        response=ForgetResponse(
            forgotten_ids=[] if pending else list(outcome.memory_ids),
            hard_delete=request.hard_delete,
            stores=[] if pending else _forgotten_at(outcome, delivered),
            pending_approval=pending,
            approval_url=approval_url(outcome.review_id) if pending else None,
        ),
    )


def approval_url(review_id: str) -> str:
    """Where a person decides."""
    return f"{settings.ENVIRONMENT.address}/proposals/{review_id}"


def forgettable(
    workspace_id: str, request: ForgetRequest, condition: filters.Filter | None, *, now_ms: int
) -> list[Memory]:
    """The memories a forget would take: the union of ids and filter, within agent and user.

    A hard forget also reaches what was forgotten softly before; a proposal still waiting is not
    a memory yet and is reached by neither.
    """
    mine = Memory.objects.of(workspace_id, request.agent_id, request.user_id).select_related(
        "seal_key"
    )
    by_id = mine.filter(pk__in=request.ids or [])
    if request.hard_delete:
        by_id = by_id.filter(erased_at__isnull=True).exclude(deleted_at=-1)
    else:
        by_id = by_id.filter(deleted_at__isnull=True)
    found = {memory.pk: memory for memory in by_id}
    if condition is not None:
        for memory in mine.visible(now_ms=now_ms).iterator(chunk_size=500):
            if filters.matches(condition, memory.as_record()):
                found[memory.pk] = memory
    return [found[pk] for pk in sorted(found)]


def _raise_if_denied(outcome: Outcome) -> None:
    if outcome.status is OperationStatus.DENIED:
        names = ", ".join(str(reason["rule"]) for reason in outcome.reasons)
        raise Denied(f"Denied by the rule: {names}.")


def _remember(call: Call, request: RememberRequest, text: EmbeddedText) -> Outcome:
    ruling = _rule_on(
        call,
        OperationKind.REMEMBER,
        types=[request.type.value],
        source=request.source,
        asked_for_review=request.approval_required,
    )
    if ruling.effect is Effect.DENY:
        return _deny(call, OperationKind.REMEMBER, request, ruling)
    staged = ruling.effect is Effect.REVIEW
    mark = review.fingerprint(*_identity(call, OperationKind.REMEMBER, request)) if staged else ""
    if staged and (waiting := review.find_pending(call.workspace_id, mark)):
        return _same_again(waiting)

    key = sealing.new_data_key(call.workspace_id)
    operation = _record(call, OperationKind.REMEMBER, request, key, pending=staged)
    review_id = new_id() if staged else ""
    memory = ledger.create(
        _change(call, operation, "memory.staged" if staged else "memory.remembered", review_id),
        request,
        memory_id=new_id(),
        key=key,
        text=text,
        staged=staged,
    )
    if not staged:
        return Outcome(
            operation_id=operation.pk,
            status=OperationStatus.APPLIED,
            memory_ids=(memory.pk,),
            stored_at=call.now_ms,
            parcels=outbox.enqueue([memory], now_ms=call.now_ms, vectors={memory.pk: text.vector}),
        )
    return _stage(call, operation, review_id, mark, ruling, [memory])


def _forget(call: Call, request: ForgetRequest, condition: filters.Filter | None) -> Outcome:
    memories = forgettable(call.workspace_id, request, condition, now_ms=call.now_ms)
    ruling = _rule_on(
        call,
        OperationKind.FORGET,
        types=[memory.type for memory in memories],
        source=None,
        asked_for_review=request.approval_required,
    )
    if ruling.effect is Effect.DENY:
        return _deny(call, OperationKind.FORGET, request, ruling)
    staged = ruling.effect is Effect.REVIEW and bool(memories)
    mark = review.fingerprint(*_identity(call, OperationKind.FORGET, request)) if staged else ""
    if staged and (waiting := review.find_pending(call.workspace_id, mark)):
        return _same_again(waiting)

    key = sealing.new_data_key(call.workspace_id)
    operation = _record(call, OperationKind.FORGET, request, key, pending=staged)
    if staged:
        review_id = new_id()
        _audit_staged_forget(call, operation, review_id, memories)
        return _stage(call, operation, review_id, mark, ruling, memories)
    _audit_unknown_ids(call, operation, request, memories)
    change = _change(call, operation, "memory.forgotten")
    parcels = effects.forget(change, memories, hard=request.hard_delete)
    return Outcome(
        operation_id=operation.pk,
        status=OperationStatus.APPLIED,
        memory_ids=tuple(memory.pk for memory in memories),
        parcels=parcels,
    )


def _rule_on(
    call: Call,
    kind: OperationKind,
    *,
    types: Sequence[str],
    source: str | None,
    asked_for_review: bool,
) -> policy.Ruling:
    write = policy.Write(
        operation=kind.value,
        types=frozenset(types),
        source=source,
        asked_for_review=asked_for_review,
    )
    rules = Rule.objects.filter(workspace_id=call.workspace_id, enabled=True)
    return policy.rule_on(write, rules)


def _identity(
    call: Call, kind: OperationKind, request: WireRequest
) -> tuple[str, str, int, dict[str, Any]]:
    principal = call.principal
    return principal.workspace_id, kind.value, principal.owner_id, request.model_dump(mode="json")


def _record(
    call: Call, kind: OperationKind, request: Any, key: DataKey, *, pending: bool
) -> Operation:
    return ledger.record_operation(
        workspace_id=call.workspace_id,
        kind=kind,
        status=OperationStatus.PENDING if pending else OperationStatus.APPLIED,
        agent_id=request.agent_id,
        user_id=request.user_id,
        # A filter may quote the very words a hard forget is to erase; the ids it found are kept.
        request=request.model_dump(
            mode="json",
            exclude_none=True,
            exclude={"filter"} if getattr(request, "hard_delete", False) else None,
        ),
        key=key,
        api_key_id=call.principal.key_id,
        proposer_id=call.principal.owner_id,
        request_id=call.request_id,
        now_ms=call.now_ms,
    )


def _change(call: Call, operation: Operation, action: str, review_id: str = "") -> ledger.Change:
    return ledger.Change(
        action=action,
        actor=call.actor,
        now_ms=call.now_ms,
        operation=operation,
        request_id=call.request_id,
        review_id=review_id,
    )


def _stage(
    call: Call,
    operation: Operation,
    review_id: str,
    mark: str,
    ruling: policy.Ruling,
    memories: Sequence[Memory],
) -> Outcome:
    review.stage(
        operation,
        review_id=review_id,
        mark=mark,
        reasons=ruling.reasons,
        targets=memories,
        now_ms=call.now_ms,
    )
    return Outcome(
        operation_id=operation.pk,
        status=OperationStatus.PENDING,
        memory_ids=tuple(memory.pk for memory in memories),
        stored_at=call.now_ms,
        review_id=review_id,
    )


def _same_again(waiting: Review) -> Outcome:
    """The answer the first of several identical proposals got."""
    return Outcome(
        operation_id=waiting.operation_id,
        status=OperationStatus.PENDING,
        memory_ids=tuple(target["id"] for target in waiting.targets),
        stored_at=waiting.created_at_ms,
        review_id=waiting.pk,
    )


def _deny(call: Call, kind: OperationKind, request: Any, ruling: policy.Ruling) -> Outcome:
    key = sealing.new_data_key(call.workspace_id)
    operation = _record(call, kind, request, key, pending=False)
    operation.status = OperationStatus.DENIED
    operation.save(update_fields=["status"])
    entry = audit.Entry(
        action=f"{kind.value}.denied",
        actor=call.actor,
        request_id=call.request_id,
        agent_id=request.agent_id,
        operation_id=operation.pk,
        facts={"rules": [reason["rule"] for reason in ruling.reasons]},
    )
    audit.append(call.workspace_id, [entry], now_ms=call.now_ms)
    return Outcome(operation_id=operation.pk, status=OperationStatus.DENIED, reasons=ruling.reasons)


def _audit_staged_forget(
    call: Call, operation: Operation, review_id: str, memories: Sequence[Memory]
) -> None:
    entry = audit.Entry(
        action="forget.staged",
        actor=call.actor,
        request_id=call.request_id,
        agent_id=operation.agent_id,
        operation_id=operation.pk,
        review_id=review_id,
        facts={"memory_ids": [memory.pk for memory in memories]},
    )
    audit.append(call.workspace_id, [entry], now_ms=call.now_ms)


def _audit_unknown_ids(
    call: Call, operation: Operation, request: ForgetRequest, memories: Sequence[Memory]
) -> None:
    """An attempt on ids that are not there, or not theirs, leaves a trace; the answer does not."""
    missed = sorted(set(request.ids or []) - {memory.pk for memory in memories})
    if missed:
        entry = audit.Entry(
            action="forget.not_found",
            actor=call.actor,
            request_id=call.request_id,
            agent_id=request.agent_id,
            operation_id=operation.pk,
            facts={"memory_ids": missed},
        )
        audit.append(call.workspace_id, [entry], now_ms=call.now_ms)


def _forgotten_at(outcome: Outcome, delivered: tuple[str, ...]) -> list[StoreOutcome]:
    count = len(outcome.memory_ids)
    primary, *others = stores_runtime.store_names()
    took = primary in delivered or count == 0
    # The others are told by the workers; what is still on its way is said, not counted.
    return [
        StoreOutcome(store=primary, count=count if took else 0, error=None if took else "pending"),
        *(StoreOutcome(store=name, count=0, error="pending") for name in others if count),
    ]
