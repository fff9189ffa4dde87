"""After an erasure: no byte of the words is left in the ledger's files."""

import asyncio

from django.db import connection

from governance import execution

_ATTEMPTS = 20
_PAUSE_SECONDS = 0.1


async def compact_ledger() -> bool:
    """Move the write-ahead log into the database and empty it; False if readers held it for long.

    ``secure_delete`` has overwritten the words in the pages; the log still holds older pages.
    """
    for _ in range(_ATTEMPTS):
        if await execution.maintain(_truncate_wal):
            return True
        await asyncio.sleep(_PAUSE_SECONDS)
    return False


def _truncate_wal() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        busy, _, _ = cursor.fetchone()
    return not busy
