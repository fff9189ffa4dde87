"""How often a key calls: counted by the minute, in Redis where there is one.

Without Redis each process counts for itself, so a key may call as often as the limit says at each
of them. A Redis that is away stops nobody: the process counts alone until it is back.
"""

import logging
import threading
import time
from dataclasses import dataclass
from functools import cache

from django.conf import settings

from governance.access import Principal

log = logging.getLogger(__name__)

WINDOW_SECONDS = 60
_REDIS_TIMEOUT_SECONDS = 0.2
_REDIS_LEFT_ALONE_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a key stands in this minute, the call at hand counted."""

    limit: int
    calls: int
    seconds_left: int
    """Until the next minute begins; at least 1."""

    @property
    def is_over(self) -> bool:
        return self.calls > self.limit

    @property
    def remaining(self) -> int:
        return max(0, self.limit - self.calls)


def count(principal: Principal, *, now_ms: int) -> Standing | None:
    """Count one call; None for a key without a limit. Refused calls count too. On a thread."""
    own = principal.calls_per_minute
    limit = settings.ENVIRONMENT.calls_per_minute if own is None else own
    if not limit:
        return None
    minute, into_it = divmod(now_ms // 1000, WINDOW_SECONDS)
    calls = _counted(principal.key_id, minute)
    return Standing(limit=limit, calls=calls, seconds_left=WINDOW_SECONDS - into_it)


class _Here:
    """The counts of this process: of one minute, the current one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._minute = 0
        self._calls: dict[str, int] = {}

    def add(self, key_id: str, minute: int) -> int:
        with self._lock:
            if minute > self._minute:
                self._minute, self._calls = minute, {}
            calls = self._calls[key_id] = self._calls.get(key_id, 0) + 1
            return calls


class _Shared:
    """The counts of all processes."""

    def __init__(self, url: str) -> None:
        from redis import Redis  # an extra: only who names a Redis needs it

        self._redis = Redis.from_url(
            url,
            socket_timeout=_REDIS_TIMEOUT_SECONDS,
            socket_connect_timeout=_REDIS_TIMEOUT_SECONDS,
        )
        self._away_until = 0.0

    def add(self, key_id: str, minute: int) -> int | None:
        """None while Redis does not answer."""
        from redis import RedisError

        if time.monotonic() < self._away_until:
            return None
        name = f"{settings.SHARED_PREFIX}.calls.{key_id}.{minute}"
        try:
            with self._redis.pipeline(transaction=False) as pipeline:
                pipeline.incr(name)
                pipeline.expire(name, 2 * WINDOW_SECONDS)
                calls, _ = pipeline.execute()
        except RedisError as error:
            self._away_until = time.monotonic() + _REDIS_LEFT_ALONE_SECONDS
            log.warning("Redis does not answer, calls are counted by process: %s", error)
            return None
        return int(calls)


_here = _Here()


@cache
def _shared(url: str) -> _Shared | None:
    return _Shared(url) if url else None


def _counted(key_id: str, minute: int) -> int:
    here = _here.add(key_id, minute)
    shared = _shared(settings.ENVIRONMENT.redis_url)
    everywhere = shared.add(key_id, minute) if shared else None
    return here if everywhere is None else everywhere
