"""One line in the log and one measurement per request.

What is written is listed here and in ``memorywire_site/logs.py``: the pattern of the address, never
the address; who, by key prefix or number; no query, header, body or answer.
"""

import logging
import time
from collections.abc import Awaitable, Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import async_only_middleware

from governance import metrics

log = logging.getLogger(__name__)

CLIENT_GONE = 499
"""The status, by custom, of a request whose client did not wait for the answer."""

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


@async_only_middleware
def observe(
    get_response: Callable[[HttpRequest], Awaitable[HttpResponseBase]],
) -> Callable[[HttpRequest], Awaitable[HttpResponseBase]]:
    """Log and measure every request once it is answered, or given up."""

    async def middleware(request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        status = CLIENT_GONE
        try:
            response = await get_response(request)
            status = response.status_code
            return response
        finally:
            _note(request, status, seconds=time.perf_counter() - started)

    return middleware


def _note(request: HttpRequest, status: int, *, seconds: float) -> None:
    # Both are whatever a caller sends, and so are cut down to what is known beforehand.
    method = request.method if request.method in _METHODS else "other"
    route = _route(request)
    metrics.request_seconds.labels(method, route, str(status)).observe(seconds)
    facts = {
        "method": method,
        "route": route,
        "status": status,
        "duration_ms": round(seconds * 1000, 1),
        "key": getattr(getattr(request, "auth", None), "key_label", None),
        "user": getattr(request, "member_id", None),
    }
    log.info("request", extra={name: fact for name, fact in facts.items() if fact is not None})


def _route(request: HttpRequest) -> str:
    """The pattern that the address matched."""
    if request.resolver_match is not None:
        return f"/{request.resolver_match.route}"
    return settings.STATIC_URL if request.path.startswith(settings.STATIC_URL) else "unmatched"
