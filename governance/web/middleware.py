"""Middleware of our own."""

import re
from collections.abc import Awaitable, Callable

import structlog
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.security import SecurityMiddleware
from django.utils.decorators import async_only_middleware

from governance.ids import new_id

_ACCEPTABLE = re.compile(r"[A-Za-z0-9._-]{1,64}")


@async_only_middleware
def request_id(
    get_response: Callable[[HttpRequest], Awaitable[HttpResponseBase]],
) -> Callable[[HttpRequest], Awaitable[HttpResponseBase]]:
    """Give every request an id, the caller's own where it is well formed, and say it back.

    Whatever is logged while it is answered carries the id, on other threads too.
    """

    async def middleware(request: HttpRequest) -> HttpResponseBase:
        offered = request.headers.get("X-Request-ID", "")
        chosen = offered if _ACCEPTABLE.fullmatch(offered) else new_id()
        request.request_id = chosen  # type: ignore[attr-defined]
        with structlog.contextvars.bound_contextvars(request_id=chosen):
            response = await get_response(request)
        response["X-Request-ID"] = chosen
        return response

    return middleware


@async_only_middleware
def transport_security(
    get_response: Callable[[HttpRequest], Awaitable[HttpResponse]],
) -> Callable[[HttpRequest], Awaitable[HttpResponse]]:
    """What Django's own does for pages, without its hop to a thread: for the API.

    Refuses unknown hosts, sends plain http to https where the public address is one, and sets the
    security headers.
    """
    security = SecurityMiddleware(lambda request: HttpResponse())

    async def middleware(request: HttpRequest) -> HttpResponse:
        request.get_host()  # raises DisallowedHost, answered with 400
        if (redirect := security.process_request(request)) is not None:
            return redirect
        return security.process_response(request, await get_response(request))

    return middleware
