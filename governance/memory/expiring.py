"""expire: forget, archive or demote every memory of an agent that a policy's conditions meet."""

from collections.abc import Sequence
from functools import partial

from governance import effects, gate, recall_tracking, sealing, writing
from governance.gate import Call
from governance.models import Effect, Memory, OperationKind, OperationStatus, Scope
from governance.writing import Answer, Outcome
from stores import expiry
from stores.wire import ExpireRequest, ExpireResponse, MemoryType

_KIND = OperationKind.EXPIRE


async def expire(call: Call, request: ExpireRequest) -> Answer[ExpireResponse]:
    """Apply an action to the visible memories that meet all conditions.

    The protocol offers no review for expire: where a rule asks for one, it is denied.
    Raises: NotAllowed, Denied.
    """
    await gate.check(call, Scope.EXPIRE, request.agent_id)
    await recall_tracking.flush()
    return await writing.carry_out(
        call,
        _KIND,
        request,
        perform=partial(_expire, call, request),
        respond=partial(_respond, request),
        response_type=ExpireResponse,
    )


def _respond(request: ExpireRequest, outcome: Outcome, stores: Sequence[str]) -> ExpireResponse:
    return ExpireResponse(
        matched_count=len(outcome.memory_ids), action_taken=request.action, stores=list(stores)
    )


def _expire(call: Call, request: ExpireRequest) -> Outcome:
    memories = _matching(call, request)
    ruling = writing.rule_on(call, _KIND, request, [memory.as_record() for memory in memories])
    if ruling.effect is not Effect.ALLOW:
        return writing.deny(call, _KIND, request, ruling)
    key = sealing.new_data_key(call.workspace_id)
    operation = writing.record(call, _KIND, request, key, OperationStatus.APPLIED)
    change = writing.change(call, operation, _ACTIONS[request.action])
    return Outcome(
        operation_id=operation.pk,
        status=OperationStatus.APPLIED,
        memory_ids=tuple(memory.pk for memory in memories),
        parcels=effects.expire(change, memories, request.action),
    )


_ACTIONS = {"forget": "memory.expired", "archive": "memory.archived", "demote": "memory.demoted"}


def _matching(call: Call, request: ExpireRequest) -> list[Memory]:
    visible = Memory.objects.of(call.workspace_id, request.agent_id, None).visible(
        now_ms=call.now_ms
    )
    if request.policy.type is not None:
        visible = visible.filter(type=request.policy.type.value)
    if request.action == "demote":
        visible = visible.filter(demoted_at__isnull=True)  # once is enough
    last_recalled = recall_tracking.last_recalled(call.workspace_id, request.agent_id)
    return [
        memory
        for memory in visible.select_related("seal_key").order_by("pk")
        if expiry.falls_under(
            request.policy,
            memory_type=MemoryType(memory.type),
            confidence=memory.confidence,
            created_at=memory.created_at,
            last_recalled_at=last_recalled.get(memory.pk),
            now=call.now_ms,
        )
    ]
