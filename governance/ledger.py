"""The only mutator of memories: one version and one audit row per change.

Every function runs inside the caller's transaction (``execution.write``) and neither talks to a
store nor waits for anything. ``Change`` says who and why; the audit row is built from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from governance import audit, sealing
from governance.embedding import EmbeddedText
from governance.models import (
    EndReason,
    Memory,
    MemoryVector,
    MemoryVersion,
    Operation,
    OperationKind,
    OperationStatus,
)
from governance.models.insert import insert
from governance.models.memory import STATE_FIELDS
from governance.sealing import DataKey
from stores.protocol import PENDING_APPROVAL
from stores.wire import MemoryRecord, RememberRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The cause of a change: what the audit row says beside the memory."""

    action: str
    actor: audit.Actor
    now_ms: int
    operation: Operation
    request_id: str = ""
    review_id: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


def record_operation(
    *,
    workspace_id: str,
    kind: OperationKind,
    status: OperationStatus,
    agent_id: str,
    user_id: str | None,
    request: dict[str, Any],
    key: DataKey,
    api_key_id: str | None,
    proposer_id: int | None,
    request_id: str,
    now_ms: int,
) -> Operation:
    """Keep what was asked, its words sealed under ``key``."""
    operation = Operation(
        workspace_id=workspace_id,
        kind=kind,
        status=status,
        agent_id=agent_id,
        user_id=user_id,
        api_key_id=api_key_id,
        proposer_id=proposer_id,
        seal_key_id=key.id,
        sealed_request=key.seal(request).ciphertext,
        request_id=request_id,
        created_at_ms=now_ms,
        finished_at_ms=None if status is OperationStatus.PENDING else now_ms,
    )
    return insert(operation)


def create(
    change: Change,
    request: RememberRequest,
    *,
    memory_id: str,
    key: DataKey,
    text: EmbeddedText,
    staged: bool,
) -> Memory:
    """A new memory: live, or staged behind the sentinel where a person must decide."""
    memory = Memory(
        id=memory_id,
        workspace_id=change.operation.workspace_id,
        agent_id=request.agent_id,
        user_id=request.user_id,
        type=request.type.value,
        content=request.content,
        metadata=request.metadata,
        confidence=request.confidence,
        source=request.source,
        expires_at=request.expires_at,
        deleted_at=PENDING_APPROVAL if staged else None,
        created_at=request.created_at or change.now_ms,
        updated_at=change.now_ms,
        seal_key_id=key.id,
    )
    insert(memory)
    _write_version(memory, change)
    _keep_vector(memory, text)
    _append(change, [(memory, key, _words(memory))])
    return memory


def publish(change: Change, memory: Memory) -> None:
    """Make a staged memory live."""
    _next_version(memory, change, deleted_at=None)
    _append(change, [(memory, _key(memory), None)])


def edit(change: Change, memory: Memory, *, content: str, text: EmbeddedText) -> None:
    """Give a staged memory another text; the proposed one stays as its earlier version."""
    change = replace(change, action="memory.edited")
    _next_version(memory, change, content=content)
    _keep_vector(memory, text)
    _append(change, [(memory, _key(memory), _words(memory))])


def end(change: Change, memories: Sequence[Memory], reason: EndReason) -> None:
    """Take memories out of recall; their words stay for the audit and can come back."""
    for memory in memories:
        _next_version(memory, change, deleted_at=change.now_ms, end_reason=reason)
    _append(change, [(memory, _key(memory), None) for memory in memories])


def supersede(change: Change, memories: Sequence[Memory], *, by: Memory) -> None:
    """End memories in favour of one that replaces them."""
    change = replace(change, action="memory.superseded", facts={**change.facts, "by": by.pk})
    for memory in memories:
        _next_version(
            memory,
            change,
            deleted_at=change.now_ms,
            end_reason=EndReason.SUPERSEDED,
            successor_id=by.pk,
        )
    _append(change, [(memory, _key(memory), None) for memory in memories])


def mark(change: Change, memories: Sequence[Memory], **state: int) -> None:
    """Set ``archived_at`` or ``demoted_at``; the words stay as they are."""
    for memory in memories:
        _next_version(memory, change, **state)
    _append(change, [(memory, _key(memory), None) for memory in memories])


def merge(
    change: Change,
    canonical: Memory,
    duplicates: Sequence[Memory],
    survivor: MemoryRecord,
    text: EmbeddedText | None,
) -> None:
    """Give the canonical memory the survivor's state and end the duplicates in its favour.

    ``text`` is the new text's vector, None where the text stays. Each row tells what was merged
    into what, with the state digests from before.
    """
    before = {
        memory.pk: audit.state_digest(memory, _key(memory)) for memory in (canonical, *duplicates)
    }
    change = replace(change, facts={**change.facts, "into": canonical.pk, "before": before})
    _next_version(
        canonical,
        change,
        type=survivor.type.value,
        content=survivor.content,
        metadata=survivor.metadata,
        confidence=survivor.confidence,
        source=survivor.source,
    )
    if text is not None:
        _keep_vector(canonical, text)
    for memory in duplicates:
        _next_version(
            memory,
            change,
            deleted_at=change.now_ms,
            end_reason=EndReason.MERGED,
            successor_id=canonical.pk,
        )
    _append(
        change,
        [
            (canonical, _key(canonical), _words(canonical)),
            *((memory, _key(memory), None) for memory in duplicates),
        ],
    )


def erase(change: Change, memories: Sequence[Memory]) -> None:
    """Forget for good: words, versions, vectors and keys go; id, times and audit rows stay.

    Operations whose request named or held these words lose their key with them.
    """
    ids = [memory.pk for memory in memories]
    key_ids = {memory.seal_key_id for memory in memories}
    key_ids |= set(
        Operation.objects.filter(memory_versions__memory__in=ids)
        .exclude(pk=change.operation.pk)
        .values_list("seal_key_id", flat=True)
    )
    for memory in memories:
        _next_version(
            memory,
            change,
            content="",
            metadata={},
            source=None,
            erased_at=change.now_ms,
            deleted_at=change.now_ms if memory.deleted_at is None else memory.deleted_at,
            end_reason=memory.end_reason or EndReason.FORGOTTEN,
        )
        # The memory says it is erased by now, which is what lets its versions go.
        MemoryVersion.objects.filter(memory=memory, number__lt=memory.version).delete()
    MemoryVector.objects.filter(memory__in=ids).delete()
    sealing.destroy(list(key_ids), now_ms=change.now_ms)
    _append(change, [(memory, None, None) for memory in memories])


def _keep_vector(memory: Memory, text: EmbeddedText) -> None:
    insert(
        MemoryVector(
            memory=memory,
            model_id=text.model_id,
            version_number=memory.version,
            data=np.ascontiguousarray(text.vector, dtype="<f4").tobytes(),
        )
    )


def _words(memory: Memory) -> dict[str, Any]:
    """What an audit row keeps sealed."""
    return {
        "content": memory.content,
        "metadata": memory.metadata,
        "source": memory.source,
        "user_id": memory.user_id,
    }


def _key(memory: Memory) -> DataKey | None:
    return sealing.data_key(memory.seal_key)


def _next_version(memory: Memory, change: Change, **state: Any) -> None:
    MemoryVersion.objects.filter(memory=memory, number=memory.version).update(
        valid_to_ms=change.now_ms
    )
    for name, value in state.items():
        setattr(memory, name, value)
    memory.version += 1
    memory.updated_at = change.now_ms
    memory.save(update_fields=[*state, "version", "updated_at"])
    _write_version(memory, change)


def _write_version(memory: Memory, change: Change) -> None:
    insert(
        MemoryVersion(
            memory=memory,
            number=memory.version,
            operation=change.operation,
            valid_from_ms=change.now_ms,
            **{name: getattr(memory, name) for name in STATE_FIELDS},
        )
    )


def _append(
    change: Change, changed: Sequence[tuple[Memory, DataKey | None, dict[str, Any] | None]]
) -> None:
    entries = [
        audit.Entry(
            action=change.action,
            actor=change.actor,
            request_id=change.request_id,
            agent_id=memory.agent_id,
            operation_id=change.operation.pk,
            review_id=change.review_id,
            memory=memory,
            key=key,
            facts=change.facts,
            words=words,
        )
        for memory, key, words in changed
    ]
    audit.append(change.operation.workspace_id, entries, now_ms=change.now_ms)
