"""What the OpenAPI document says beyond bodies: refusals, and headers that carry meaning.

An endpoint names the refusals it can answer with (``**refusals(404)``) and what its headers are
(``openapi_extra=write_headers(200, 202)``); the rest is the same for all and stands here.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation
from pydantic import BaseModel, ConfigDict, Field

OPERATION_HEADER = "Memorywire-Operation"
"""Carries the operation's id: with it an agent asks what became of a write that waits."""
IGNORED_HEADER = "Memorywire-Ignored"
"""Names the keys of a request that the protocol does not know: they had no effect."""
REPLAYED_HEADER = "Idempotency-Replayed"
"""``true`` on an answer that an earlier request of the same Idempotency-Key got."""

RATE_LIMIT_HEADER = "RateLimit"
"""Calls that remain to the key (``r``) and seconds until they are counted anew (``t``)."""
RATE_LIMIT_POLICY_HEADER = "RateLimit-Policy"
"""Calls the key may make (``q``) in so many seconds (``w``)."""

PROBLEM_TYPE = "application/problem+json"

_ALWAYS = (500, 503)
_WITH_BODY = (400, 413, 422)
_WITH_KEY = (401, 403, 429)


class ProblemField(BaseModel):
    """One field that is wrong: where (dotted path), why, under which code."""

    model_config = ConfigDict(extra="forbid")

    field: str
    code: str
    message: str


class Problem(BaseModel):
    """A refusal (RFC 9457). ``code`` is stable; ``next_step`` says what the caller can do."""

    model_config = ConfigDict(extra="forbid")

    type: str
    title: str
    status: int
    code: str
    detail: str
    next_step: str
    request_id: str
    errors: list[ProblemField] = Field(default_factory=list)


Refusals = Mapping[Any, type[Problem]]


def refusals(*statuses: int) -> Refusals:
    """These refusals, and those that are possible anywhere: for ``response=``."""
    return {frozenset({*statuses, *_ALWAYS}): Problem}


def call_refusals(*statuses: int) -> Refusals:
    """Those of an operation with a key and a body, and ``statuses`` beside them."""
    return refusals(*_WITH_KEY, *_WITH_BODY, *statuses)


def answer_headers(*statuses: int) -> dict[str, Any]:
    """``openapi_extra`` of an operation whose unknown keys are named."""
    return _headers(statuses, {IGNORED_HEADER: "Keys of the request that had no effect."})


def write_headers(*statuses: int) -> dict[str, Any]:
    """``openapi_extra`` of a write: it takes an Idempotency-Key and has an operation's id."""
    extra = _headers(
        statuses,
        {
            IGNORED_HEADER: "Keys of the request that had no effect.",
            OPERATION_HEADER: "The operation's id, for GET /v0/operations/{operation_id}.",
            REPLAYED_HEADER: "`true` if an earlier request of the same key got this answer.",
        },
    )
    if HTTPStatus.ACCEPTED in statuses:
        extra["responses"][202]["headers"] |= {"Location": _header("Where to ask what became.")}
    return extra | {
        "parameters": [
            {
                "in": "header",
                "name": "Idempotency-Key",
                "required": False,
                "description": "Sent again with the same request, nothing happens twice.",
                "schema": {"type": "string", "pattern": "^[\\x21-\\x7e]{1,255}$"},
            }
        ]
    }


def _headers(statuses: tuple[int, ...], named: dict[str, str]) -> dict[str, Any]:
    return {
        "responses": {
            status: {"headers": {name: _header(says) for name, says in named.items()}}
            for status in statuses
        }
    }


def _header(description: str) -> dict[str, Any]:
    return {"description": description, "schema": {"type": "string"}}


class DocumentedAPI(NinjaAPI):
    """Names operations after their functions, and refusals by their own media type."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        document = super().get_openapi_schema(**options)
        for operations in document["paths"].values():
            for operation in operations.values():
                for status, response in operation["responses"].items():
                    if "security" in operation and status < HTTPStatus.BAD_REQUEST:
                        response.setdefault("headers", {}).update(_RATE_LIMIT)
                    if status >= HTTPStatus.BAD_REQUEST:
                        _as_problem(status, response)
        return document


_RATE_LIMIT = {
    RATE_LIMIT_HEADER: _header("Calls that remain to the key; seconds until counted anew."),
    RATE_LIMIT_POLICY_HEADER: _header("Calls the key may make, in how many seconds."),
}


def _as_problem(status: int, response: dict[str, Any]) -> None:
    problem = {"schema": {"$ref": "#/components/schemas/Problem"}}
    own = {} if problem in response["content"].values() else response["content"]
    response["content"] = {**own, PROBLEM_TYPE: problem}
    if status == HTTPStatus.UNAUTHORIZED:
        response["headers"] = {"WWW-Authenticate": _header("The scheme to use.")}
    if status in {HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS}:
        response["headers"] = {"Retry-After": _header("Seconds to wait.")}
