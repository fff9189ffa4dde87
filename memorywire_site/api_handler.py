"""Django for the API alone: what browsers need costs every request a dozen thread hops.

Sessions, cookies, CSRF and messages are synchronous middleware, so each is run on a thread and
back, and mean nothing to a bearer key. The API's chain is ``settings.API_MIDDLEWARE``, all of it
asynchronous; the ledger's connections are no request's, so no request signal need tend them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.exception import convert_exception_to_response
from django.urls import set_script_prefix
from django.utils.module_loading import import_string

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


class ApiHandler(ASGIHandler):
    """Answers one request on the event loop; a caller that hangs up ends it."""

    def load_middleware(self, is_async: bool = False) -> None:
        self._view_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []
        chain = convert_exception_to_response(self._get_response_async)  # type: ignore[attr-defined]  # not in the stubs
        for path in reversed(settings.API_MIDDLEWARE):
            chain = convert_exception_to_response(import_string(path)(chain))
        self._middleware_chain = chain

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        set_script_prefix(get_script_prefix(scope))
        with body:
            answering = asyncio.ensure_future(self._answer(scope, body, send))
            leaving = asyncio.ensure_future(receive())
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            for task in (answering, leaving):
                if not task.done():
                    task.cancel()
            await asyncio.gather(answering, leaving, return_exceptions=True)
        if not answering.cancelled() and (error := answering.exception()) is not None:
            raise error

    async def _answer(self, scope: Scope, body: Any, send: Send) -> None:
        request, refusal = self.create_request(scope, body)
        response = await self.get_response_async(request) if request else refusal
        if response is not None:
            await self.send_response(response, send)
