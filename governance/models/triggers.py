"""Database triggers that refuse to change what must stay: the audit log and closed versions.

They stop mistakes and casual tampering through any connection, the ORM's included; whoever drops
them first is found by ``manage.py audit verify``.
"""

from typing import Any

from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

_APPEND_ONLY = ("governance_auditrow", "governance_decision")
_VERSION_STATE = (
    "type", "content", "metadata", "confidence", "source", "expires_at", "deleted_at", "end_reason",
    "successor_id", "archived_at", "demoted_at", "quarantined_at", "erased_at", "memory_id",
    "number", "operation_id", "valid_from_ms",
)  # fmt: skip


def _sqlite_triggers() -> dict[str, str]:
    triggers: dict[str, str] = {}
    for table in _APPEND_ONLY:
        for event in ("UPDATE", "DELETE"):
            name = f"{table}_no_{event.lower()}"
            triggers[name] = (
                f"CREATE TRIGGER {name} BEFORE {event} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
            )
        # INSERT OR REPLACE removes the old row without firing the DELETE trigger.
        name = f"{table}_no_replace"
        triggers[name] = (
            f"CREATE TRIGGER {name} BEFORE INSERT ON {table} "
            f"WHEN EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id) "
            f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        )
    triggers["governance_auditrow_no_resequence"] = (
        "CREATE TRIGGER governance_auditrow_no_resequence BEFORE INSERT ON governance_auditrow "
        "WHEN EXISTS (SELECT 1 FROM governance_auditrow "
        "WHERE workspace_id = NEW.workspace_id AND sequence = NEW.sequence) "
        "BEGIN SELECT RAISE(ABORT, 'governance_auditrow is append-only'); END"
    )
    unchanged = " AND ".join(f"NEW.{column} IS OLD.{column}" for column in _VERSION_STATE)
    triggers["governance_memoryversion_closes_once"] = (
        "CREATE TRIGGER governance_memoryversion_closes_once "
        "BEFORE UPDATE ON governance_memoryversion "
        f"WHEN NOT (OLD.valid_to_ms IS NULL AND {unchanged}) "
        "BEGIN SELECT RAISE(ABORT, 'a version is never edited'); END"
    )
    triggers["governance_memoryversion_erased_only_with_memory"] = (
        "CREATE TRIGGER governance_memoryversion_erased_only_with_memory "
        "BEFORE DELETE ON governance_memoryversion "
        "WHEN EXISTS (SELECT 1 FROM governance_memory "
        "WHERE id = OLD.memory_id AND erased_at IS NULL) "
        "BEGIN SELECT RAISE(ABORT, 'a version goes only with its memory'); END"
    )
    return triggers


def install(connection: BaseDatabaseWrapper) -> None:
    """Put every trigger in place, replacing older forms. Safe to run at any time."""
    with connection.cursor() as cursor:
        for name, sql in _sqlite_triggers().items():
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}")
            cursor.execute(sql)


def drop(connection: BaseDatabaseWrapper) -> None:
    """Take them away: for tests that empty the tables, and for nothing else."""
    with connection.cursor() as cursor:
        for name in _sqlite_triggers():
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}")


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """Names of triggers that should be there, in this very form, and are not."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        present = dict(cursor.fetchall())
    return [name for name, sql in _sqlite_triggers().items() if present.get(name) != sql]


def reinstall(*, using: str, **_: Any) -> None:
    """After every migrate: SQLite rebuilds a table to alter it and drops its triggers."""
    connection = connections[using]
    try:
        install(connection)
    except DatabaseError:
        # A migrate that went backwards past the tables has nothing left to guard.
        if "governance_auditrow" in connection.introspection.table_names():
            raise
