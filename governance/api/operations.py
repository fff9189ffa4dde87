"""The protocol's operations."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router, Status

from governance import memory, recall
from governance.access import Principal
from governance.api.problems import request_id_of
from governance.clock import now_ms
from governance.gate import Call
from stores.wire import (
    ForgetRequest,
    ForgetResponse,
    RecallRequest,
    RecallResponse,
    RememberRequest,
    RememberResponse,
)

router = Router(tags=["operations"])

OPERATION_HEADER = "Memorywire-Operation"
"""Carries the operation's id: with it an agent asks what became of a write that waits."""


@router.post("/remember", response={200: RememberResponse, 202: RememberResponse})
async def remember(
    request: HttpRequest, response: HttpResponse, payload: RememberRequest
) -> Status[RememberResponse]:
    """Store a memory; 202 when a person must approve it first."""
    answer = await memory.remember(_call(request), payload)
    return Status(_status(answer, response), answer.response)


@router.post("/recall", response=RecallResponse)
async def recall_memories(request: HttpRequest, payload: RecallRequest) -> RecallResponse:
    """The k best visible memories for a query."""
    return await recall.recall(_call(request), payload)


@router.post("/forget", response={200: ForgetResponse, 202: ForgetResponse})
async def forget(
    request: HttpRequest, response: HttpResponse, payload: ForgetRequest
) -> Status[ForgetResponse]:
    """Forget memories by id or filter; 202 when a person must approve it first."""
    answer = await memory.forget(_call(request), payload)
    return Status(_status(answer, response), answer.response)


def _call(request: HttpRequest) -> Call:
    principal: Principal = request.auth  # type: ignore[attr-defined]
    return Call(principal=principal, request_id=request_id_of(request), now_ms=now_ms())


def _status(answer: memory.Answer[Any], response: HttpResponse) -> int:
    response[OPERATION_HEADER] = answer.operation_id
    if answer.is_pending:
        response["Location"] = f"/v0/operations/{answer.operation_id}"
        return 202
    return 200
