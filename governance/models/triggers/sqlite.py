"""The triggers as SQLite says them."""

from django.db.backends.base.base import BaseDatabaseWrapper

from governance.models.triggers.tables import APPEND_ONLY, VERSION_STATE


def _triggers() -> dict[str, str]:
    triggers: dict[str, str] = {}
    for table in APPEND_ONLY:
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
    unchanged = " AND ".join(f"NEW.{column} IS OLD.{column}" for column in VERSION_STATE)
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
    with connection.cursor() as cursor:
        for name, sql in _triggers().items():
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}")
            cursor.execute(sql)


def drop(connection: BaseDatabaseWrapper) -> None:
    with connection.cursor() as cursor:
        for name in _triggers():
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}")


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        present = dict(cursor.fetchall())
    return [name for name, sql in _triggers().items() if present.get(name) != sql]
