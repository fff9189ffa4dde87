"""The protocol's operations."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse
from ninja import Router, Status

from governance import memory, recall
from governance.access import Principal
from governance.api.openapi import (
    IGNORED_HEADER,
    OPERATION_HEADER,
    REPLAYED_HEADER,
    answer_headers,
    call_refusals,
    write_headers,
)
from governance.api.problems import request_id_of
from governance.clock import now_ms
from governance.errors import Invalid
from governance.gate import Call
from governance.writing import Answer
from stores.wire import (
    ExpireRequest,
    ExpireResponse,
    ForgetRequest,
    ForgetResponse,
    MergeRequest,
    MergeResponse,
    RecallRequest,
    RecallResponse,
    RememberRequest,
    RememberResponse,
    WireRequest,
)

router = Router(tags=["operations"])

_IGNORED_NAMED = 20
_KEY_SHAPE = re.compile(r"[\x21-\x7e]{1,255}")


@router.post(
    "/remember",
    response={200: RememberResponse, 202: RememberResponse, **call_refusals(409)},
    openapi_extra=write_headers(200, 202),
)
async def remember(
    request: HttpRequest, response: HttpResponse, payload: RememberRequest
) -> Status[RememberResponse]:
    """Store a memory; 202 when a person must approve it first."""
    answer = await memory.remember(_write_call(request), payload)
    return Status(_status(answer, request, response, payload), answer.response)


@router.post(
    "/recall",
    response={200: RecallResponse, **call_refusals()},
    operation_id="recall",
    openapi_extra=answer_headers(200),
)
async def recall_memories(
    request: HttpRequest, response: HttpResponse, payload: RecallRequest
) -> RecallResponse:
    """The k best visible memories for a query."""
    _name_ignored(request, response, payload)
    return await recall.recall(_call(request), payload)


@router.post(
    "/forget",
    response={200: ForgetResponse, 202: ForgetResponse, **call_refusals(409)},
    openapi_extra=write_headers(200, 202),
)
async def forget(
    request: HttpRequest, response: HttpResponse, payload: ForgetRequest
) -> Status[ForgetResponse]:
    """Forget memories by id or filter; 202 when a person must approve it first."""
    answer = await memory.forget(_write_call(request), payload)
    return Status(_status(answer, request, response, payload), answer.response)


@router.post(
    "/merge",
    response={200: MergeResponse, 202: MergeResponse, **call_refusals(404, 409)},
    openapi_extra=write_headers(200, 202),
)
async def merge(
    request: HttpRequest, response: HttpResponse, payload: MergeRequest
) -> Status[MergeResponse]:
    """Collapse memories into one; 202 when a person must approve it first."""
    answer = await memory.merge(_write_call(request), payload)
    return Status(_status(answer, request, response, payload), answer.response)


@router.post(
    "/expire",
    response={200: ExpireResponse, **call_refusals(409)},
    openapi_extra=write_headers(200),
)
async def expire(
    request: HttpRequest, response: HttpResponse, payload: ExpireRequest
) -> ExpireResponse:
    """Forget, archive or demote every memory that meets a policy's conditions."""
    answer = await memory.expire(_write_call(request), payload)
    _status(answer, request, response, payload)
    return answer.response


def _call(request: HttpRequest, *, idempotency_key: str = "") -> Call:
    principal: Principal = request.auth  # type: ignore[attr-defined]
    return Call(
        principal=principal,
        request_id=request_id_of(request),
        now_ms=now_ms(),
        idempotency_key=idempotency_key,
    )


def _write_call(request: HttpRequest) -> Call:
    """Raises: Invalid if there is an Idempotency-Key and it is no token of 1 to 255 characters."""
    key = request.headers.get("Idempotency-Key")
    if key is not None and not _KEY_SHAPE.fullmatch(key):
        raise Invalid(
            "Idempotency-Key must be 1 to 255 visible ASCII characters.",
            code="idempotency_key_invalid",
        )
    return _call(request, idempotency_key=key or "")


def _status(
    answer: Answer[Any], request: HttpRequest, response: HttpResponse, payload: WireRequest
) -> int:
    _name_ignored(request, response, payload)
    response[OPERATION_HEADER] = answer.operation_id
    if answer.is_replay:
        response[REPLAYED_HEADER] = "true"
    if answer.is_pending:
        response["Location"] = f"/v0/operations/{answer.operation_id}"
        return 202
    return 200


def _name_ignored(request: HttpRequest, response: HttpResponse, payload: WireRequest) -> None:
    body: Mapping[str, Any] = getattr(request, "memorywire_body", {})
    ignored = [key for key in body if key not in type(payload).model_fields]
    if ignored:
        # Whatever an agent calls its keys, a header holds only what quoting leaves.
        response[IGNORED_HEADER] = ", ".join(quote(key[:64]) for key in ignored[:_IGNORED_NAMED])
