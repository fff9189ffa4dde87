"""Many memories at once, as the operations would have left them: for campaigns and tests.

Through the ledger and the outbox, like the server, but thousands in one transaction.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from governance.models import Workspace

DAY_MS = 86_400_000
_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One memory as it was written, and what became of it."""

    id: str
    agent_id: str
    content: str
    created_at: int
    user_id: str | None = None
    type: str = "semantic"
    metadata: dict[str, Any] = field(default_factory=dict)
    expires_at: int | None = None
    state: str = "live"
    """live, demoted, archived, staged, rejected, forgotten or erased."""


def write(
    workspace: "Workspace",
    memories: Sequence[Written],
    *,
    now_ms: int,
    held_back: Collection[str] = (),
) -> None:
    """To the ledger and, but for the ids ``held_back``, to the store."""
    from governance import execution, outbox
    from governance.models import Delivery

    of = vectors({memory.content for memory in memories})
    for start in range(0, len(memories), _BATCH):
        execution.write_sync(_write, workspace, memories[start : start + _BATCH], of, now_ms)
    tomorrow = now_ms + DAY_MS
    execution.write_sync(
        Delivery.objects.filter(memory_id__in=held_back).update, due_at_ms=tomorrow
    )
    while outbox.deliver_due(now_ms=now_ms + 1):
        pass


def vectors(texts: set[str]) -> dict[str, Any]:
    """Each text's vector by the server's own embedder."""
    from governance.embedding import embed

    async def embed_all() -> list[Any]:
        return [await embed(text) for text in ordered]

    ordered = sorted(texts)
    return dict(zip(ordered, asyncio.run(embed_all()), strict=True))


def _write(
    workspace: "Workspace", memories: Sequence[Written], of: dict[str, Any], now_ms: int
) -> None:
    """Through the ledger, as the operations would, in one transaction and under one operation."""
    from governance import audit, ledger, outbox, sealing, walls
    from governance.models import OperationKind, OperationStatus
    from stores.wire import RememberRequest

    walls.enter(workspace.pk)

    operation = ledger.record_operation(
        workspace_id=workspace.pk,
        kind=OperationKind.REMEMBER,
        status=OperationStatus.APPLIED,
        agent_id="campaign",
        user_id=None,
        request={},
        key=sealing.new_data_key(workspace.pk),
        api_key_id=None,
        proposer_id=None,
        request_id="campaign",
        now_ms=now_ms,
    )
    change = ledger.Change(
        action="memory.remembered",
        actor=audit.Actor.system("campaign"),
        now_ms=now_ms,
        operation=operation,
    )
    made = []
    for memory in memories:
        request = RememberRequest.model_validate(
            {
                "agent_id": memory.agent_id,
                "user_id": memory.user_id,
                "type": memory.type,
                "content": memory.content,
                "metadata": memory.metadata,
                "created_at": memory.created_at,
                "expires_at": memory.expires_at,
            }
        )
        row = ledger.create(
            change,
            request,
            memory_id=memory.id,
            key=sealing.new_data_key(workspace.pk),
            text=of[memory.content],
            staged=memory.state in ("staged", "rejected"),
        )
        _become(change, row, memory.state)
        made.append(row)
    outbox.enqueue(made, now_ms=now_ms, claimed=False)


def _become(change: Any, row: Any, state: str) -> None:
    from governance import ledger
    from governance.models import EndReason

    if state == "rejected":
        ledger.end(change, [row], EndReason.REJECTED)
    elif state == "forgotten":
        ledger.end(change, [row], EndReason.FORGOTTEN)
    elif state == "erased":
        ledger.erase(change, [row])
    elif state in ("archived", "demoted"):
        ledger.mark(change, [row], **{f"{state}_at": change.now_ms})
