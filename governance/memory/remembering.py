"""remember: store a memory, or stage it for a person."""

from collections.abc import Sequence
from functools import partial

from governance import effects, gate, known, ledger, outbox, screening, sealing, writing
from governance.embedding import EmbeddedText, embed
from governance.errors import Conflict
from governance.gate import Call
from governance.ids import new_id
from governance.models import Effect, Memory, Operation, OperationKind, OperationStatus, Scope
from governance.writing import Answer, Outcome
from stores.wire import MemoryRecord, MemoryType, RememberRequest, RememberResponse

_KIND = OperationKind.REMEMBER


async def remember(call: Call, request: RememberRequest) -> Answer[RememberResponse]:
    """Store a memory, or stage it for a person.

    Raises: NotAllowed, Denied, Invalid (a procedure that is none), Conflict (an imported id that
    is taken). A refusal by key or rule is in the audit log.
    """
    await gate.check(call, Scope.REMEMBER, request.agent_id)
    if request.id is not None or request.created_at is not None:
        await gate.check(call, Scope.IMPORT, request.agent_id)
    if request.type is MemoryType.PROCEDURAL:
        effects.check_procedure(request.content)
    text = await embed(request.content)
    return await writing.carry_out(
        call,
        _KIND,
        request,
        perform=partial(_remember, call, request, text, screening.codes(request)),
        respond=_respond,
        response_type=RememberResponse,
    )


def _respond(outcome: Outcome, stores: Sequence[str]) -> RememberResponse:
    return RememberResponse(
        id=outcome.memory_ids[0],
        stored_at=outcome.stored_at,
        stores=list(stores),
        pending_approval=outcome.is_pending,
        approval_url=outcome.approval_url,
    )


def _remember(
    call: Call, request: RememberRequest, text: EmbeddedText, flags: frozenset[str]
) -> Outcome:
    record = _as_record(call, request)
    ruling = writing.rule_on(call, _KIND, request, [record], flags=flags)
    if ruling.effect is Effect.DENY:
        return writing.deny(call, _KIND, request, ruling)
    if ruling.effect is Effect.ALLOW:
        operation, memory = _create(call, request, text)
        parcels = outbox.enqueue([memory], now_ms=call.now_ms, vectors={memory.pk: text.vector})
        return Outcome(
            operation_id=operation.pk,
            status=OperationStatus.APPLIED,
            memory_ids=(memory.pk,),
            stored_at=call.now_ms,
            parcels=[*parcels, *_supersede_named(call, operation, memory)],
        )
    mark, twin = writing.waiting_twin(call, _KIND, request)
    if twin is not None:
        return twin
    review_id = new_id()
    operation, memory = _create(call, request, text, review_id=review_id)
    return writing.stage(
        call,
        operation,
        request,
        review_id=review_id,
        mark=mark,
        ruling=ruling,
        targets=[memory],
        flags=flags,
    )


def _supersede_named(call: Call, operation: Operation, memory: Memory) -> list[outbox.Parcel]:
    """End what an unreviewed write names as replaced; it never replaces what it does not name."""
    replaced = known.named_by(memory, now_ms=call.now_ms)
    if not replaced:
        return []
    ledger.supersede(writing.change(call, operation, ""), replaced, by=memory)
    return outbox.enqueue(replaced, now_ms=call.now_ms)


def _as_record(call: Call, request: RememberRequest) -> MemoryRecord:
    """What the memory would be, for rules to look at; it has no id yet."""
    return MemoryRecord.model_construct(
        id=request.id or "",
        agent_id=request.agent_id,
        user_id=request.user_id,
        type=request.type,
        content=request.content,
        metadata=request.metadata,
        confidence=request.confidence,
        source=request.source,
        created_at=request.created_at or call.now_ms,
        updated_at=call.now_ms,
        expires_at=request.expires_at,
    )


def _create(
    call: Call, request: RememberRequest, text: EmbeddedText, *, review_id: str = ""
) -> tuple[Operation, Memory]:
    """The memory and the operation that made it: staged where there is a review, else live."""
    memory_id = request.id or new_id()
    if request.id is not None and Memory.objects.filter(pk=request.id).exists():
        raise Conflict("There is a memory with this id already.", code="id_taken")
    staged = bool(review_id)
    key = sealing.new_data_key(call.workspace_id)
    status = OperationStatus.PENDING if staged else OperationStatus.APPLIED
    operation = writing.record(call, _KIND, request, key, status)
    action = "memory.staged" if staged else "memory.remembered"
    memory = ledger.create(
        writing.change(call, operation, action, review_id=review_id),
        request,
        memory_id=memory_id,
        key=key,
        text=text,
        staged=staged,
    )
    return operation, memory
