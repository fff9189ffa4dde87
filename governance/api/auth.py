"""Bearer keys."""

from django.http import HttpRequest
from ninja.security import HttpBearer

from governance import access, execution, key_use, rate_limits
from governance.access import Principal
from governance.clock import now_ms
from governance.errors import NotAuthenticated, TooManyCalls
from governance.rate_limits import Standing


class BearerKey(HttpBearer):
    """Resolves ``Authorization: Bearer mw_...`` to a ``Principal``, as ``request.auth``."""

    async def __call__(self, request: HttpRequest) -> Principal:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise NotAuthenticated
        return await self.authenticate(request, token.strip())

    async def authenticate(self, request: HttpRequest, token: str) -> Principal:
        at_ms = now_ms()
        principal, standing = await execution.read(_admit, token, now_ms=at_ms)
        request.rate_limit = standing  # type: ignore[attr-defined]  # said with every answer
        if standing is not None and standing.is_over:
            raise TooManyCalls(f"It may make {standing.limit} a minute.")
        key_use.note(principal.key_id, now_ms=at_ms)
        return principal


def _admit(token: str, *, now_ms: int) -> tuple[Principal, Standing | None]:
    principal = access.authenticate(token, now_ms=now_ms)
    return principal, rate_limits.count(principal, now_ms=now_ms)
