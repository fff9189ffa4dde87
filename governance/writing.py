"""The road every write takes, whatever the operation.

``carry_out`` runs an operation's transaction, once per Idempotency-Key, and what follows its
commit. The other functions are the steps such a transaction is made of.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from django.conf import settings
from pydantic import BaseModel

from governance import (
    audit,
    compaction,
    execution,
    idempotency,
    ledger,
    metrics,
    outbox,
    policy,
    review,
    sealing,
    walls,
)
from governance.errors import Denied
from governance.gate import Call
from governance.ids import new_id
from governance.models import (
    Memory,
    Operation,
    OperationKind,
    OperationStatus,
    Review,
    Rule,
)
from governance.sealing import DataKey
from stores.wire import (
    ExpireRequest,
    ExpireResponse,
    ForgetRequest,
    ForgetResponse,
    MemoryRecord,
    MergeRequest,
    MergeResponse,
    RememberRequest,
    RememberResponse,
)

#: What can wait for a person: the protocol gives expire no answer that says so.
Staged = RememberRequest | ForgetRequest | MergeRequest
Request = Staged | ExpireRequest
Response = TypeVar("Response", RememberResponse, ForgetResponse, MergeResponse, ExpireResponse)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the ledger did with a write, before any store was told."""

    operation_id: str
    status: OperationStatus
    memory_ids: tuple[str, ...] = ()
    stored_at: int = 0
    parcels: list[outbox.Parcel] = field(default_factory=list)
    review_id: str = ""
    rules: tuple[str, ...] = ()
    """Names of the rules that denied it."""
    is_erasure: bool = False

    @property
    def is_pending(self) -> bool:
        return self.status is OperationStatus.PENDING

    @property
    def approval_url(self) -> str | None:
        return approval_url(self.review_id) if self.is_pending else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[Response]):
    """The protocol's response and the operation it belongs to."""

    response: Response
    operation_id: str
    is_pending: bool
    is_replay: bool = False
    """Whether an earlier request of the same Idempotency-Key got this answer."""


def approval_url(review_id: str) -> str:
    """Where a person decides."""
    return f"{settings.ENVIRONMENT.address}/proposals/{review_id}"


async def carry_out(
    call: Call,
    kind: OperationKind,
    request: Request,
    *,
    perform: Callable[[], Outcome],
    respond: Callable[[Outcome, Sequence[str]], Response],
    response_type: type[Response],
) -> Answer[Response]:
    """Run ``perform`` in one transaction; then deliver, and answer with what ``respond`` says.

    ``respond`` gets the names of the stores that have taken the change by then. With an
    Idempotency-Key all this happens once: the same request gets the same answer again.
    Raises: Denied; KeyReused (same key, other request); InFlight (the first is not done yet).
    """
    if not call.idempotency_key:
        outcome = await execution.write(_perform, call, perform)
        return await _finish(kind, outcome, respond)
    claim = idempotency.Claim.of(call, kind, request)
    first = await execution.write(_perform_once, claim, perform, respond)
    if first is None:
        return _replayed(await idempotency.answer_to(claim), response_type)
    answer = await _finish(kind, first, respond)
    await execution.write(_keep, claim, first, answer.response, is_final=True)
    return answer


async def earlier_answer(
    call: Call, kind: OperationKind, request: Request, response_type: type[Response]
) -> Answer[Response] | None:
    """The answer this very request got before under its Idempotency-Key, if it has one.

    For operations that would otherwise embed or look things up only to be told so.
    Raises: KeyReused, InFlight, Denied.
    """
    if not call.idempotency_key:
        return None
    claim = idempotency.Claim.of(call, kind, request)
    if not await execution.read(idempotency.find, claim):
        return None
    return _replayed(await idempotency.answer_to(claim), response_type)


async def _finish(
    kind: OperationKind, outcome: Outcome, respond: Callable[[Outcome, Sequence[str]], Response]
) -> Answer[Response]:
    """What follows the commit."""
    metrics.operations.labels(kind.value, outcome.status.value).inc()
    _raise_if_denied(outcome.status, outcome.rules)
    delivered = await outbox.deliver_now(outcome.parcels)
    if outcome.is_erasure:
        await compaction.compact_ledger()
    return Answer(
        response=respond(outcome, delivered),
        operation_id=outcome.operation_id,
        is_pending=outcome.is_pending,
    )


def _perform(call: Call, perform: Callable[[], Outcome]) -> Outcome:
    walls.enter(call.workspace_id)
    return perform()


def _perform_once(
    claim: idempotency.Claim,
    perform: Callable[[], Outcome],
    respond: Callable[[Outcome, Sequence[str]], Response],
) -> Outcome | None:
    """The change and the use of its key, in one transaction; None if the key was used before."""
    walls.enter(claim.workspace_id)
    if idempotency.find(claim):
        return None
    outcome = perform()
    denied = outcome.status is OperationStatus.DENIED
    # Should the process end before it can answer, this is the answer: no store confirmed yet.
    _keep(claim, outcome, None if denied else respond(outcome, ()), is_final=denied)
    return outcome


def _keep(
    claim: idempotency.Claim, outcome: Outcome, response: BaseModel | None, *, is_final: bool
) -> None:
    answer = {
        "operation_id": outcome.operation_id,
        "status": outcome.status.value,
        "rules": list(outcome.rules),
        "response": None if response is None else response.model_dump(mode="json"),
    }
    idempotency.keep(claim, outcome.operation_id, answer, is_final=is_final)


def _replayed(kept: dict[str, Any], response_type: type[Response]) -> Answer[Response]:
    status = OperationStatus(kept["status"])
    _raise_if_denied(status, kept["rules"])
    return Answer(
        response=response_type.model_validate(kept["response"]),
        operation_id=kept["operation_id"],
        is_pending=status is OperationStatus.PENDING,
        is_replay=True,
    )


def _raise_if_denied(status: OperationStatus, rules: Sequence[str]) -> None:
    if status is OperationStatus.DENIED:
        raise Denied(f"Denied by the rule: {', '.join(rules)}.")


# --- the steps of a transaction ------------------------------------------------------------------


def rule_on(
    call: Call,
    kind: OperationKind,
    request: Request,
    memories: Iterable[MemoryRecord],
    *,
    flags: frozenset[str] = frozenset(),
) -> policy.Ruling:
    """What the workspace's policy says of a write to these memories."""
    write = policy.Write(
        operation=kind.value,
        agent_id=request.agent_id,
        memories=tuple(memories),
        flags=flags,
        asked_for_review=getattr(request, "approval_required", False),
    )
    rules = Rule.objects.filter(workspace_id=call.workspace_id, enabled=True)
    return policy.rule_on(write, rules)


def record(
    call: Call,
    kind: OperationKind,
    request: Request,
    key: DataKey,
    status: OperationStatus,
) -> Operation:
    """Keep what was asked."""
    return ledger.record_operation(
        workspace_id=call.workspace_id,
        kind=kind,
        status=status,
        agent_id=request.agent_id,
        user_id=getattr(request, "user_id", None),
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


def change(
    call: Call,
    operation: Operation,
    action: str,
    *,
    review_id: str = "",
    facts: dict[str, Any] | None = None,
) -> ledger.Change:
    """The cause that the audit rows of this call's changes name."""
    return ledger.Change(
        action=action,
        actor=call.actor,
        now_ms=call.now_ms,
        operation=operation,
        request_id=call.request_id,
        review_id=review_id,
        facts=facts or {},
    )


def deny(call: Call, kind: OperationKind, request: Request, ruling: policy.Ruling) -> Outcome:
    """Keep that a rule refused a write. The refusal is raised after the commit."""
    key = sealing.new_data_key(call.workspace_id)
    operation = record(call, kind, request, key, OperationStatus.DENIED)
    rules = tuple(str(reason["rule"]) for reason in ruling.reasons if "rule" in reason)
    note(call, operation, f"{kind.value}.denied", {"rules": list(rules)})
    return Outcome(operation_id=operation.pk, status=OperationStatus.DENIED, rules=rules)


def waiting_twin(call: Call, kind: OperationKind, request: Request) -> tuple[str, Outcome | None]:
    """The fingerprint of a proposal, and the answer of an identical one that still waits."""
    mark = review.fingerprint(
        call.workspace_id, kind.value, call.principal.owner_id, request.model_dump(mode="json")
    )
    twin = review.find_pending(call.workspace_id, mark)
    return mark, None if twin is None else _answer_of(twin)


def _answer_of(twin: Review) -> Outcome:
    return Outcome(
        operation_id=twin.operation_id,
        status=OperationStatus.PENDING,
        memory_ids=tuple(target["id"] for target in twin.targets),
        stored_at=twin.created_at_ms,
        review_id=twin.pk,
    )


def stage(
    call: Call,
    operation: Operation,
    request: Staged,
    *,
    review_id: str,
    mark: str,
    ruling: policy.Ruling,
    targets: Sequence[Memory],
    flags: Collection[str] = (),
) -> Outcome:
    """Leave an operation to a person."""
    review.stage(
        operation,
        review_id=review_id,
        mark=mark,
        reasons=ruling.reasons,
        risk=review.risk_of(request, ruling.reasons, flags),
        flags=flags,
        targets=targets,
        now_ms=call.now_ms,
    )
    return Outcome(
        operation_id=operation.pk,
        status=OperationStatus.PENDING,
        memory_ids=tuple(memory.pk for memory in targets),
        stored_at=call.now_ms,
        review_id=review_id,
    )


def stage_change_of(
    call: Call,
    kind: OperationKind,
    request: Staged,
    ruling: policy.Ruling,
    targets: Sequence[Memory],
) -> Outcome:
    """Leave to a person what would change memories that exist: a forget or a merge."""
    mark, twin = waiting_twin(call, kind, request)
    if twin is not None:
        return twin
    key = sealing.new_data_key(call.workspace_id)
    operation = record(call, kind, request, key, OperationStatus.PENDING)
    review_id = new_id()
    facts = {"memory_ids": [memory.pk for memory in targets]}
    note(call, operation, f"{kind.value}.staged", facts, review_id=review_id)
    return stage(
        call, operation, request, review_id=review_id, mark=mark, ruling=ruling, targets=targets
    )


def note(
    call: Call,
    operation: Operation,
    action: str,
    facts: dict[str, Any],
    *,
    review_id: str = "",
) -> None:
    """An audit row about an operation that changed no memory by itself."""
    entry = audit.Entry(
        action=action,
        actor=call.actor,
        request_id=call.request_id,
        agent_id=operation.agent_id,
        operation_id=operation.pk,
        review_id=review_id,
        facts=facts,
    )
    audit.append(call.workspace_id, [entry], now_ms=call.now_ms)
