"""After an erasure: no byte of the words is left in the ledger's files."""

import asyncio

from django.db import connection

from governance import execution

_ATTEMPTS = 20
_PAUSE_SECONDS = 0.1
_HELD_WORDS = ("governance_memory", "governance_memoryversion", "governance_memoryvector")


async def compact_ledger() -> bool:
    """Clear what an erasure leaves behind; False if readers held it for long.

    On SQLite ``secure_delete`` has overwritten the words in the pages, and the write-ahead log that
    still holds older pages is moved into the database and emptied. On PostgreSQL the dead rows are
    vacuumed away; its own log and its backups keep them as long as their owner says.
    """
    for _ in range(_ATTEMPTS):
        if await execution.maintain(_compact):
            return True
        await asyncio.sleep(_PAUSE_SECONDS)
    return False


def _compact() -> bool:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"VACUUM {', '.join(_HELD_WORDS)}")
            return True
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        busy, _, _ = cursor.fetchone()
    return not busy
