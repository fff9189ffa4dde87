"""Remembering what was recalled, and when: noted at once, written in batches.

A recall must not wait for a write. Notes of a process that dies within a second are lost, which
makes a memory look unused for one recall; nothing else depends on them.
"""

import threading
from collections.abc import Iterable

from django.db.models import F

from governance import execution, stores_runtime
from governance.models import Memory, Recalled

FLUSH_AFTER_SECONDS = 1.0

_lock = threading.Lock()
_noted: dict[str, tuple[int, int]] = {}  # memory id -> (last recalled at, how often since flush)


def note(memory_ids: Iterable[str], *, now_ms: int) -> None:
    """Note that memories were recalled; they are written within about a second."""
    with _lock:
        is_first = not _noted
        for memory_id in memory_ids:
            _, times = _noted.get(memory_id, (0, 0))
            _noted[memory_id] = (now_ms, times + 1)
        needs_timer = is_first and bool(_noted)
    if needs_timer:
        stores_runtime.soon(FLUSH_AFTER_SECONDS, flush)


async def flush() -> None:
    """Write what was noted."""
    with _lock:
        batch = dict(_noted)
        _noted.clear()
    if batch:
        await execution.write(_write, batch)


def last_recalled(workspace_id: str, agent_id: str) -> dict[str, int]:
    """Memory id to when it was last recalled, of one agent; one query."""
    rows = Recalled.objects.filter(memory__workspace_id=workspace_id, memory__agent_id=agent_id)
    return dict(rows.values_list("memory_id", "last_at_ms"))


def _write(batch: dict[str, tuple[int, int]]) -> None:
    # A memory may have gone since: a row for it would break the transaction for all.
    known = set(Memory.objects.filter(pk__in=batch).values_list("pk", flat=True))
    rows = [
        Recalled(memory_id=pk, last_at_ms=at_ms, times=0)
        for pk, (at_ms, _) in batch.items()
        if pk in known
    ]
    Recalled.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["memory"], update_fields=["last_at_ms"]
    )
    for times in {times for _, times in batch.values()}:
        ids = [pk for pk, (_, noted) in batch.items() if noted == times and pk in known]
        Recalled.objects.filter(pk__in=ids).update(times=F("times") + times)
