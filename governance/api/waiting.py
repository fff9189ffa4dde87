"""What became of an operation, and waiting for it."""

import asyncio
import time
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import BaseModel

from governance import access, execution, stopping, walls
from governance.access import Principal
from governance.api.openapi import refusals
from governance.models import Operation, OperationStatus
from governance.writing import approval_url

router = Router(tags=["operations"])

WAIT_MAX_SECONDS = 60
_POLL_SECONDS = 0.1
_POLL_SECONDS_MAX = 1.0


class OperationState(BaseModel):
    """An operation as its proposer may see it. Times are epoch milliseconds."""

    id: str
    operation: str
    status: OperationStatus
    agent_id: str
    memory_ids: list[str]
    created_at: int
    finished_at: int | None = None
    pending_approval: bool
    approval_url: str | None = None
    decision: dict[str, Any] | None = None
    """The protocol's governance response: approved, reviewer, reviewed_at, reason."""


@router.get(
    "/operations/{operation_id}", response={200: OperationState, **refusals(401, 404, 422, 429)}
)
async def operation(
    request: HttpRequest,
    operation_id: str,
    wait: Annotated[float, Query(ge=0, le=WAIT_MAX_SECONDS)] = 0,
) -> OperationState:
    """The state of an operation; with ``wait`` the answer comes once it is decided, or then.

    Waiting holds neither a thread nor a connection: only this coroutine sleeps. A server that is
    asked to stop answers at once.
    """
    principal: Principal = request.auth  # type: ignore[attr-defined]
    deadline = time.monotonic() + wait
    pause = _POLL_SECONDS
    while True:
        state = await execution.read(_state, principal, operation_id)
        remaining = deadline - time.monotonic()
        if not state.pending_approval or remaining <= 0 or stopping.is_asked():
            return state
        await asyncio.sleep(min(pause, remaining))
        pause = min(pause * 2, _POLL_SECONDS_MAX)  # a person takes longer than a machine


def _state(principal: Principal, operation_id: str) -> OperationState:
    walls.enter(principal.workspace_id)
    found = access.access_operation(principal, operation_id)
    review = getattr(found, "review", None)
    pending = found.status == OperationStatus.PENDING
    return OperationState(
        id=found.pk,
        operation=found.kind,
        status=OperationStatus(found.status),
        agent_id=found.agent_id,
        memory_ids=_memory_ids(found),
        created_at=found.created_at_ms,
        finished_at=found.finished_at_ms,
        pending_approval=pending,
        approval_url=approval_url(review.pk) if pending and review else None,
        decision=_decision(found),
    )


def _memory_ids(found: Operation) -> list[str]:
    review = getattr(found, "review", None)
    if review is not None:
        return [target["id"] for target in review.targets]
    return sorted(set(found.memory_versions.values_list("memory_id", flat=True)))


def _decision(found: Operation) -> dict[str, Any] | None:
    review = getattr(found, "review", None)
    last = review.decisions.select_related("person").last() if review is not None else None
    if last is None:
        return None
    return {
        "approved": last.verdict == "approve",
        "reviewer": last.person.label,
        "reviewed_at": last.decided_at_ms,
        "reason": last.reason,
    }
