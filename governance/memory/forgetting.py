"""forget: end memories or erase their words, or stage that for a person."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from django.conf import settings

from governance import effects, gate, policy, sealing, stores_runtime, writing
from governance.filter_sql import narrowing
from governance.gate import Call
from governance.memory import references
from governance.models import Effect, Memory, Operation, OperationKind, OperationStatus, Scope
from governance.writing import Answer, Outcome
from stores import filters
from stores.protocol import PENDING_APPROVAL
from stores.wire import ForgetRequest, ForgetResponse, StoreOutcome

_KIND = OperationKind.FORGET


async def forget(call: Call, request: ForgetRequest) -> Answer[ForgetResponse]:
    """Forget memories by id or filter, or stage that for a person.

    Ids that are unknown, another's or already forgotten are not listed and not an error; an id
    that was merged away means its survivor. A filter that takes many is staged whatever the rules
    say.
    Raises: NotAllowed, Denied, Invalid (a filter that cannot be read).
    """
    await gate.check(call, Scope.FORGET, request.agent_id)
    condition = gate.parse_filter(request.filter)
    return await writing.carry_out(
        call,
        _KIND,
        request,
        perform=partial(_forget, call, request, condition),
        respond=partial(_respond, request),
        response_type=ForgetResponse,
    )


def _respond(request: ForgetRequest, outcome: Outcome, stores: Sequence[str]) -> ForgetResponse:
    done = () if outcome.is_pending else outcome.memory_ids
    return ForgetResponse(
        forgotten_ids=list(done),
        hard_delete=request.hard_delete,
        stores=[] if outcome.is_pending else _told(len(done), stores),
        pending_approval=outcome.is_pending,
        approval_url=outcome.approval_url,
    )


def _told(count: int, stores: Sequence[str]) -> list[StoreOutcome]:
    """How many each store confirmed; what is still on its way is said, not counted."""
    return [
        StoreOutcome(store=name, count=count)
        if name in stores or not count
        else StoreOutcome(store=name, count=0, error="pending")
        for name in stores_runtime.store_names()
    ]


def _forget(call: Call, request: ForgetRequest, condition: filters.Filter | None) -> Outcome:
    memories = _reached(call, request, condition)
    ruling = writing.rule_on(call, _KIND, request, [memory.as_record() for memory in memories])
    if ruling.effect is Effect.DENY:
        return writing.deny(call, _KIND, request, ruling)
    ruling = _many_need_a_person(request, ruling, len(memories))
    if ruling.effect is Effect.REVIEW and memories:
        return writing.stage_change_of(call, _KIND, request, ruling, memories)
    key = sealing.new_data_key(call.workspace_id)
    operation = writing.record(call, _KIND, request, key, OperationStatus.APPLIED)
    _note_missed(call, operation, request, memories)
    change = writing.change(call, operation, "memory.forgotten")
    return Outcome(
        operation_id=operation.pk,
        status=OperationStatus.APPLIED,
        memory_ids=tuple(memory.pk for memory in memories),
        parcels=effects.forget(change, memories, hard=request.hard_delete),
        is_erasure=request.hard_delete and bool(memories),
    )


def _reached(call: Call, request: ForgetRequest, condition: filters.Filter | None) -> list[Memory]:
    """The memories a forget would take: the union of ids and filter, within agent and user.

    A hard forget also reaches what was forgotten softly before; a proposal still waiting is not
    a memory yet and is reached by neither.
    """
    mine = Memory.objects.of(call.workspace_id, request.agent_id, request.user_id).select_related(
        "seal_key"
    )
    by_id = mine.filter(pk__in=references.survivors(mine, request.ids or []))
    if request.hard_delete:
        by_id = by_id.filter(erased_at__isnull=True).exclude(deleted_at=PENDING_APPROVAL)
    else:
        by_id = by_id.filter(deleted_at__isnull=True)
    found = {memory.pk: memory for memory in by_id}
    if condition is not None:
        visible = mine.visible(now_ms=call.now_ms).filter(narrowing(condition))
        for memory in visible.iterator(chunk_size=500):
            if filters.matches(condition, memory.as_record()):
                found[memory.pk] = memory
    return [found[pk] for pk in sorted(found)]


def _many_need_a_person(request: ForgetRequest, ruling: policy.Ruling, count: int) -> policy.Ruling:
    limit = settings.ENVIRONMENT.forget_review_above
    if not request.filter or count <= limit:
        return ruling
    reason: dict[str, object] = {"kind": "many", "count": count, "limit": limit}
    return replace(ruling, effect=Effect.REVIEW, reasons=(*ruling.reasons, reason))


def _note_missed(
    call: Call, operation: Operation, request: ForgetRequest, memories: Sequence[Memory]
) -> None:
    """An attempt on ids that are not there, or not theirs, leaves a trace; the answer does not."""
    missed = sorted(set(request.ids or []) - {memory.pk for memory in memories})
    if missed:
        writing.note(call, operation, "forget.not_found", {"memory_ids": missed})
