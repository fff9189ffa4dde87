"""What the API says with every answer, whoever gave it."""

from collections.abc import Awaitable, Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import async_only_middleware

from governance.api.openapi import RATE_LIMIT_HEADER, RATE_LIMIT_POLICY_HEADER
from governance.api.problems import problem, request_id_of
from governance.errors import MethodNotAllowed
from governance.rate_limits import WINDOW_SECONDS, Standing


@async_only_middleware
def complete(
    get_response: Callable[[HttpRequest], Awaitable[HttpResponseBase]],
) -> Callable[[HttpRequest], Awaitable[HttpResponseBase]]:
    """Say where the key stands, and refuse a method as every other thing is refused."""

    async def middleware(request: HttpRequest) -> HttpResponseBase:
        response = await get_response(request)
        if response.status_code == MethodNotAllowed.status and request.path.startswith("/v0/"):
            response = _method_refused(request, allowed=response["Allow"])
        standing: Standing | None = getattr(request, "rate_limit", None)
        if standing is not None:
            _say(standing, response)
        return response

    return middleware


def _method_refused(request: HttpRequest, *, allowed: str) -> HttpResponseBase:
    error = MethodNotAllowed(f"{request.method} is not one of {allowed}.")
    response = problem(error, request_id_of(request))
    response["Allow"] = allowed
    return response


def _say(standing: Standing, response: HttpResponseBase) -> None:
    # The fields of the IETF's draft "RateLimit header fields for HTTP".
    response[RATE_LIMIT_POLICY_HEADER] = f'"key";q={standing.limit};w={WINDOW_SECONDS}'
    response[RATE_LIMIT_HEADER] = f'"key";r={standing.remaining};t={standing.seconds_left}'
    if standing.is_over:
        response["Retry-After"] = str(standing.seconds_left)
