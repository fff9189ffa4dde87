"""Bearer keys."""

from django.http import HttpRequest
from ninja.security import HttpBearer

from governance import access, execution, key_use
from governance.access import Principal
from governance.clock import now_ms
from governance.errors import NotAuthenticated


class BearerKey(HttpBearer):
    """Resolves ``Authorization: Bearer mw_...`` to a ``Principal``, as ``request.auth``."""

    async def __call__(self, request: HttpRequest) -> Principal:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise NotAuthenticated
        return await self.authenticate(request, token.strip())

    async def authenticate(self, request: HttpRequest, token: str) -> Principal:
        at_ms = now_ms()
        principal = await execution.read(access.authenticate, token, now_ms=at_ms)
        key_use.note(principal.key_id, now_ms=at_ms)
        return principal
