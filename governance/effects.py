"""What an operation does once it is allowed or approved: to the ledger, then to the outbox.

Both the front door and a decision come through here, so that approving does what allowing does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from governance import ledger, outbox
from governance.embedding import EmbeddedText, embed
from governance.errors import FieldError, Invalid
from governance.models import EndReason, Memory
from stores import merging, procedures
from stores.wire import (
    ExpireAction,
    MemoryRecord,
    MemoryType,
    MergeStrategy,
    RememberRequest,
)


class Moved(Exception):
    """A memory changed between being read and being changed: nothing was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merger:
    """A merge, computed: what the canonical memory becomes. ``text`` None: its text stays."""

    canonical: Memory
    duplicates: Sequence[Memory]
    survivor: MemoryRecord
    text: EmbeddedText | None


def check_procedure(content: str) -> None:
    """Raises: Invalid, naming the path, unless the text is a state machine that can run nothing."""
    try:
        procedures.parse(content)
    except procedures.ProcedureError as error:
        problem = FieldError(field="content", code="procedure_invalid", message=str(error))
        raise Invalid(str(error), code="procedure_invalid", errors=(problem,)) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A reviewer's text for a staged memory, and its vector."""

    content: str
    text: EmbeddedText


async def prepare_edit(request: RememberRequest) -> Edit:
    """Raises: Invalid if the text is to be a procedure and is none."""
    if request.type is MemoryType.PROCEDURAL:
        check_procedure(request.content)
    return Edit(content=request.content, text=await embed(request.content))


def edit(change: ledger.Change, memory: Memory, edited: Edit) -> None:
    """Put the reviewer's text in place of the proposed one, as a version of its own."""
    ledger.edit(change, memory, content=edited.content, text=edited.text)


def publish(
    change: ledger.Change, memories: Sequence[Memory], *, replaced: Sequence[Memory] = ()
) -> list[outbox.Parcel]:
    """Make staged memories live, and end what the first of them replaces in the same breath."""
    for memory in memories:
        ledger.publish(change, memory)
    if replaced:
        ledger.supersede(change, replaced, by=memories[0])
    return outbox.enqueue([*memories, *replaced], now_ms=change.now_ms)


def forget(change: ledger.Change, memories: Sequence[Memory], *, hard: bool) -> list[outbox.Parcel]:
    """End memories, or erase their words for good."""
    if not memories:
        return []
    if hard:
        ledger.erase(change, memories)
    else:
        ledger.end(change, memories, EndReason.FORGOTTEN)
    return outbox.enqueue(memories, now_ms=change.now_ms)


def expire(
    change: ledger.Change, memories: Sequence[Memory], action: ExpireAction
) -> list[outbox.Parcel]:
    """End, archive or demote memories. A demoted one stays with the stores as it is."""
    if not memories:
        return []
    if action is ExpireAction.DEMOTE:
        ledger.mark(change, memories, demoted_at=change.now_ms)
    elif action is ExpireAction.ARCHIVE:
        ledger.mark(change, memories, archived_at=change.now_ms)
    else:
        ledger.end(change, memories, EndReason.EXPIRED)
    return outbox.enqueue(memories, now_ms=change.now_ms)


def survivor_of(
    memories: Sequence[Memory], strategy: MergeStrategy, *, now_ms: int
) -> MemoryRecord:
    """What the first of the memories, the canonical one, becomes."""
    record, *others = (memory.as_record() for memory in memories)
    return merging.merge(record, others, strategy=strategy, now=now_ms)


async def prepare_merge(
    memories: Sequence[Memory], strategy: MergeStrategy, *, now_ms: int
) -> Merger:
    """Compute a merge of memories, the canonical one first: the model call lies here."""
    canonical, *duplicates = memories
    record = canonical.as_record()
    survivor = survivor_of(memories, strategy, now_ms=now_ms)
    if survivor.type is MemoryType.PROCEDURAL and survivor != record:
        check_procedure(survivor.content)
    text = None if survivor.content == record.content else await embed(survivor.content)
    return Merger(canonical=canonical, duplicates=duplicates, survivor=survivor, text=text)


def check_unmoved(merger: Merger) -> Merger:
    """The merger with its memories read again, inside the transaction that will change them.

    Raises: Moved if one of them is not as it was when the merge was computed.
    """
    read = [merger.canonical, *merger.duplicates]
    now = (
        Memory.objects.select_for_update()
        .select_related("seal_key")
        .in_bulk([memory.pk for memory in read])
    )
    if any(_has_moved(memory, now) for memory in read):
        raise Moved
    canonical, *duplicates = (now[memory.pk] for memory in read)
    return replace(merger, canonical=canonical, duplicates=duplicates)


def _has_moved(memory: Memory, now: dict[str, Memory]) -> bool:
    """Whether a memory is no longer at the version it was read at."""
    return memory.pk not in now or now[memory.pk].version != memory.version


def merge(change: ledger.Change, merger: Merger) -> list[outbox.Parcel]:
    """Rewrite the canonical memory and end the others, which from then on mean it."""
    ledger.merge(change, merger.canonical, merger.duplicates, merger.survivor, merger.text)
    return outbox.enqueue([merger.canonical, *merger.duplicates], now_ms=change.now_ms)
