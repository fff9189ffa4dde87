"""When keys were last used: noted at once, written in batches, each key at most once a minute.

A call must not wait for a write. What a process noted and did not write before it died is lost,
which makes a key look unused for a minute; nothing else depends on it.
"""

import asyncio
import threading

from governance import execution
from governance.models import ApiKey

EVERY_MS = 60_000
FLUSH_AFTER_SECONDS = 1.0

_lock = threading.Lock()
_written: dict[str, int] = {}  # key id -> the use that was last written, by this process
_noted: dict[str, int] = {}  # key id -> a use to be written
_timer_loop: asyncio.AbstractEventLoop | None = None


def note(key_id: str, *, now_ms: int) -> None:
    """Note that a key was used; it is written within about a second. On a loop."""
    global _timer_loop
    with _lock:
        if now_ms - _written.get(key_id, 0) < EVERY_MS:
            return
        _written[key_id] = _noted[key_id] = now_ms
        if _timer_loop is not None and not _timer_loop.is_closed():
            return
        _timer_loop = loop = asyncio.get_running_loop()
    loop.call_later(FLUSH_AFTER_SECONDS, lambda: loop.create_task(flush()))


async def flush() -> None:
    """Write what was noted."""
    global _timer_loop
    with _lock:
        batch = dict(_noted)
        _noted.clear()
        _timer_loop = None
    if batch:
        await execution.write(_write, batch)


def _write(batch: dict[str, int]) -> None:
    keys = [ApiKey(pk=key_id, last_used_at_ms=at_ms) for key_id, at_ms in batch.items()]
    ApiKey.objects.bulk_update(keys, ["last_used_at_ms"])
