"""The wall of one workspace around a piece of ledger work.

``enter`` is the first thing a transaction does that changes a workspace. From then on no other
transaction changes it, in any process, so what has been read stays true until the commit: the
audit log refuses rows of whoever did not enter. SQLite has one writer anyway; PostgreSQL locks the
row that says where the workspace's log ends, and shows rows of no other workspace: a second wall
behind ``access``, for the day a query forgets its filter (``models/row_security.py``).
"""

import threading

from django.db import connection

EVERYWHERE = "*"
"""What a connection may see before it enters anywhere: commands, migrations, sweeps."""


class _Here(threading.local):
    workspace_id: str = ""


_here = _Here()


def enter(workspace_id: str) -> None:
    """See and change this workspace only, until the piece of work ends."""
    _here.workspace_id = workspace_id
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        # In a transaction it ends with it; outside one ``leave`` ends it.
        cursor.execute(
            "SELECT set_config('memorywire.workspace', %s, %s)",
            [workspace_id, connection.in_atomic_block],
        )
        if connection.in_atomic_block:
            cursor.execute(
                "SELECT 1 FROM governance_audithead WHERE workspace_id = %s FOR UPDATE",
                [workspace_id],
            )


def may_have_waited() -> bool:
    """Whether something may have changed between the last read and ``enter``."""
    return connection.vendor == "postgresql" and connection.in_atomic_block


def leave() -> None:
    """The piece of work has ended: the thread's next one enters for itself."""
    if not _here.workspace_id:
        return
    _here.workspace_id = ""
    if connection.vendor == "postgresql" and not connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('memorywire.workspace', %s, false)", [EVERYWHERE])


def is_inside(workspace_id: str) -> bool:
    """Whether the work at hand has entered this workspace."""
    return _here.workspace_id == workspace_id
