"""merge: collapse memories into one, whole or not at all, or stage that for a person."""

from collections.abc import Sequence
from functools import partial

from governance import effects, execution, gate, sealing, writing
from governance.effects import Merger
from governance.errors import Conflict, Invalid, NotFound
from governance.gate import Call
from governance.memory import references
from governance.models import Effect, Memory, OperationKind, OperationStatus, Scope
from governance.writing import Answer, Outcome
from stores.wire import MergeRequest, MergeResponse

_KIND = OperationKind.MERGE
_ATTEMPTS = 3


async def merge(call: Call, request: MergeRequest) -> Answer[MergeResponse]:
    """Merge memories named by id or entity name, or stage that for a person.

    Raises: NotAllowed, Denied, NotFound (a name nobody of this agent has), Invalid (ambiguous,
    repeated, of different users), Conflict (they keep changing). Nothing is merged then.
    """
    await gate.check(call, Scope.MERGE, request.agent_id)
    if earlier := await writing.earlier_answer(call, _KIND, request, MergeResponse):
        return earlier  # the memories it names may be gone by now, by this very request
    for _ in range(_ATTEMPTS):
        memories = await execution.read(_named, call, request)
        # Computed before the transaction, which then checks that nothing moved meanwhile.
        merger = await effects.prepare_merge(memories, request.strategy, now_ms=call.now_ms)
        try:
            return await writing.carry_out(
                call,
                _KIND,
                request,
                perform=partial(_merge, call, request, merger),
                respond=partial(_respond, request),
                response_type=MergeResponse,
            )
        except effects.Moved:
            continue
    raise Conflict("The memories kept changing while they were merged: nothing was merged.")


def _respond(request: MergeRequest, outcome: Outcome, stores: Sequence[str]) -> MergeResponse:
    return MergeResponse(
        canonical=request.canonical,
        merged_count=0 if outcome.is_pending else len(outcome.memory_ids) - 1,
        strategy_used=request.strategy,
        stores=list(stores),
        pending_approval=outcome.is_pending,
        approval_url=outcome.approval_url,
    )


def _merge(call: Call, request: MergeRequest, merger: Merger) -> Outcome:
    memories = [merger.canonical, *merger.duplicates]
    ruling = writing.rule_on(call, _KIND, request, [memory.as_record() for memory in memories])
    if ruling.effect is Effect.DENY:
        return writing.deny(call, _KIND, request, ruling)
    merger = effects.check_unmoved(merger)
    if ruling.effect is Effect.REVIEW:
        return writing.stage_change_of(call, _KIND, request, ruling, memories)
    key = sealing.new_data_key(call.workspace_id)
    operation = writing.record(call, _KIND, request, key, OperationStatus.APPLIED)
    change = writing.change(call, operation, "memory.merged")
    return Outcome(
        operation_id=operation.pk,
        status=OperationStatus.APPLIED,
        memory_ids=tuple(memory.pk for memory in memories),
        parcels=effects.merge(change, merger),
    )


def _named(call: Call, request: MergeRequest) -> list[Memory]:
    """The visible memories a merge names, the canonical one first."""
    names = [request.canonical, *request.duplicates]
    mine = Memory.objects.of(call.workspace_id, request.agent_id, None)
    visible = mine.visible(now_ms=call.now_ms).select_related("seal_key")
    resolved = {name: references.survivors(mine, [name])[0] for name in names}
    found = visible.in_bulk(list(resolved.values()))
    unknown = {name for name, pk in resolved.items() if pk not in found}
    by_name = references.by_entity_name(visible, unknown) if unknown else {}
    memories = [_only(name, found.get(resolved[name]), by_name.get(name, [])) for name in names]
    if len({memory.pk for memory in memories}) != len(memories):
        raise Invalid("The same memory is named twice: nothing was merged.", code="merge_repeated")
    if len({memory.user_id for memory in memories}) != 1:
        raise Invalid(
            "The memories belong to different users: nothing was merged.", code="merge_users_differ"
        )
    return memories


def _only(name: str, by_id: Memory | None, by_name: Sequence[Memory]) -> Memory:
    if by_id is not None:
        return by_id
    if not by_name:
        raise NotFound(f"{name!r} is no memory of this agent: nothing was merged.")
    if len(by_name) > 1:
        raise Invalid(
            f"{name!r} names {len(by_name)} memories: nothing was merged.", code="merge_ambiguous"
        )
    return by_name[0]
