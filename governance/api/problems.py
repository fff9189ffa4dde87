"""Every error as problem+json (RFC 9457): a stable code, the fields, the next step."""

import logging
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from governance.api.openapi import PROBLEM_TYPE, Problem, ProblemField
from governance.errors import BadRequest, FieldError, GovernanceError, Invalid, NotFound

log = logging.getLogger(__name__)


def problem(error: GovernanceError, request_id: str) -> HttpResponse:
    """One error as a response."""
    body = Problem(
        type=f"https://memorywire.dev/problems/{error.code}",
        title=error.title,
        status=error.status,
        code=error.code,
        detail=error.detail,
        next_step=error.next_step,
        request_id=request_id,
        errors=[ProblemField(**asdict(item)) for item in error.errors],
    )
    fields = body.model_dump(exclude=None if error.errors else {"errors"})
    response = JsonResponse(fields, status=error.status, content_type=PROBLEM_TYPE)
    if error.status == 401:
        response["WWW-Authenticate"] = 'Bearer realm="memorywire"'
    if error.status == 503:
        response["Retry-After"] = "1"
    return response


def register(api: NinjaAPI) -> None:
    """Have the API answer every exception this way."""

    @api.exception_handler(GovernanceError)
    def refused(request: HttpRequest, error: GovernanceError) -> HttpResponse:
        return problem(error, request_id_of(request))

    @api.exception_handler(ValidationError)
    def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
        return problem(Invalid(errors=_field_errors(error.errors)), request_id_of(request))

    @api.exception_handler(HttpError)
    def unreadable(request: HttpRequest, error: HttpError) -> HttpResponse:
        # ninja wraps whatever a parser raises; what it was is more use to the caller.
        cause = error.__cause__
        refusal = cause if isinstance(cause, GovernanceError) else BadRequest(str(error))
        return problem(refusal, request_id_of(request))

    @api.exception_handler(Http404)
    def missing(request: HttpRequest, error: Http404) -> HttpResponse:
        return problem(NotFound(), request_id_of(request))

    @api.exception_handler(Exception)
    def unexpected(request: HttpRequest, error: Exception) -> HttpResponse:
        log.exception("unexpected error, request %s", request_id_of(request), exc_info=error)
        return problem(GovernanceError(), request_id_of(request))


def request_id_of(request: HttpRequest) -> str:
    """The id that the middleware gave the request."""
    return str(getattr(request, "request_id", ""))


def _field_errors(errors: Sequence[Any]) -> tuple[FieldError, ...]:
    # pydantic's location begins with where ninja found the value ("body", "payload"): not ours.
    return tuple(
        FieldError(
            field=".".join(str(part) for part in error["loc"][2:]),
            code=str(error["type"]),
            message=str(error["msg"]),
        )
        for error in errors
    )
