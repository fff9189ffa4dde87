"""Memories over time: the sweep of those past their expiry.

Recall never waits for it: expiry is judged when read. The sweep brings the ledger and the log
into line, with one audit row per memory.
"""

from governance import audit, execution, ledger, metrics, outbox, sealing, walls
from governance.ids import new_id
from governance.models import EndReason, Memory, OperationKind, OperationStatus

SWEEP_BATCH = 200
_SWEEPER = audit.Actor.system("expiry-sweep")


def sweep_expired(*, now_ms: int) -> int:
    """End one batch of memories whose time is up. Returns how many; call until it is none."""
    ended = execution.write_sync(_sweep, now_ms=now_ms)
    metrics.sweeps.inc()
    metrics.swept_memories.inc(ended)
    return ended


def _sweep(*, now_ms: int) -> int:
    due = Memory.objects.filter(deleted_at__isnull=True, expires_at__lte=now_ms)
    first = due.order_by("expires_at").values_list("workspace_id", flat=True).first()
    if first is None:
        return 0
    walls.enter(first)
    memories = list(
        due.filter(workspace_id=first)
        .select_related("seal_key")
        .order_by("expires_at", "pk")[:SWEEP_BATCH]
    )
    by_agent: dict[str, list[Memory]] = {}
    for memory in memories:
        by_agent.setdefault(memory.agent_id, []).append(memory)
    for agent_id, batch in by_agent.items():
        _expire(first, agent_id, batch, now_ms=now_ms)
    return len(memories)


def _expire(workspace_id: str, agent_id: str, memories: list[Memory], *, now_ms: int) -> None:
    operation = ledger.record_operation(
        workspace_id=workspace_id,
        kind=OperationKind.EXPIRE,
        status=OperationStatus.APPLIED,
        agent_id=agent_id,
        user_id=None,
        request={"swept": len(memories)},
        key=sealing.new_data_key(workspace_id),
        api_key_id=None,
        proposer_id=None,
        request_id=new_id(),
        now_ms=now_ms,
    )
    change = ledger.Change(
        action="memory.expired", actor=_SWEEPER, now_ms=now_ms, operation=operation
    )
    ledger.end(change, memories, EndReason.EXPIRED)
    outbox.enqueue(memories, now_ms=now_ms, claimed=False)
