"""Whether requests should be sent here: judged at most once a second, whoever asks.

Stores are not asked: without them writes wait in the outbox and recall answers from the ledger.
"""

import asyncio
import time
from collections.abc import Iterator

from django.db import DatabaseError, connection

from governance import execution, stores_runtime
from governance.errors import LedgerBusy
from governance.models import triggers
from stores.errors import EmbedderMismatch

KEPT_SECONDS = 1.0
LEDGER_SECONDS = 2.0

_kept: tuple[float, list[str]] | None = None  # when it was judged, on the monotonic clock


async def reasons_against() -> list[str]:
    """Why nothing should be sent here, for people; empty: ready."""
    global _kept
    if _kept is None or time.monotonic() - _kept[0] >= KEPT_SECONDS:
        found = await _judge()
        _kept = (time.monotonic(), found)
    return _kept[1]


def forget() -> None:
    """Judge anew when next asked."""
    global _kept
    _kept = None


async def _judge() -> list[str]:
    try:
        async with asyncio.timeout(LEDGER_SECONDS):
            return await execution.read(lambda: list(_reasons()))
    except (DatabaseError, LedgerBusy, TimeoutError) as error:
        return [f"The ledger does not answer as it should: {type(error).__name__}."]


def _reasons() -> Iterator[str]:
    if missing := triggers.missing(connection):
        yield f"{len(missing)} of the triggers that guard the log are missing: run 'setup'."
    try:
        stores_runtime.check_vectors()
    except EmbedderMismatch as error:
        yield str(error)
