"""The triggers as PostgreSQL says them. TRUNCATE is refused too, which SQLite does not have."""

import hashlib

from django.db.backends.base.base import BaseDatabaseWrapper

from governance.models.triggers.tables import APPEND_ONLY, VERSION_STATE

_REFUSE = """
CREATE OR REPLACE FUNCTION governance_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'restrict_violation';
END $$
"""
_REFUSE_UNLESS_ERASED = """
CREATE OR REPLACE FUNCTION governance_refuse_unless_erased() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM governance_memory WHERE id = OLD.memory_id AND erased_at IS NULL) THEN
        RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN OLD;
END $$
"""


def _triggers() -> dict[str, tuple[str, str]]:
    """Name of each trigger to its table and its statement."""
    triggers: dict[str, tuple[str, str]] = {}
    for table in APPEND_ONLY:
        said = f"EXECUTE FUNCTION governance_refuse('{table} is append-only')"
        for event, each in (("UPDATE", "ROW"), ("DELETE", "ROW"), ("TRUNCATE", "STATEMENT")):
            name = f"{table}_no_{event.lower()}"
            triggers[name] = (
                table,
                f"CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH {each} {said}",
            )
    table = "governance_memoryversion"
    columns = ", ".join(f"{{row}}.{column}" for column in VERSION_STATE)
    new, old = columns.replace("{row}", "NEW"), columns.replace("{row}", "OLD")
    triggers[f"{table}_closes_once"] = (
        table,
        f"CREATE TRIGGER {table}_closes_once BEFORE UPDATE ON {table} FOR EACH ROW "
        f"WHEN (NOT (OLD.valid_to_ms IS NULL AND ({new}) IS NOT DISTINCT FROM ({old}))) "
        "EXECUTE FUNCTION governance_refuse('a version is never edited')",
    )
    triggers[f"{table}_erased_only_with_memory"] = (
        table,
        f"CREATE TRIGGER {table}_erased_only_with_memory BEFORE DELETE ON {table} FOR EACH ROW "
        "EXECUTE FUNCTION "
        "governance_refuse_unless_erased('a version goes only with its memory')",
    )
    triggers[f"{table}_no_truncate"] = (
        table,
        f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} FOR EACH STATEMENT "
        "EXECUTE FUNCTION governance_refuse('a version goes only with its memory')",
    )
    return triggers


def install(connection: BaseDatabaseWrapper) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_REFUSE)
        cursor.execute(_REFUSE_UNLESS_ERASED)
        for name, (table, statement) in _triggers().items():
            cursor.execute(f"DROP TRIGGER IF EXISTS {name} ON {table}")
            cursor.execute(statement)
            cursor.execute(f"COMMENT ON TRIGGER {name} ON {table} IS '{_mark(statement)}'")


def drop(connection: BaseDatabaseWrapper) -> None:
    with connection.cursor() as cursor:
        for name, (table, _) in _triggers().items():
            cursor.execute(f"DROP TRIGGER IF EXISTS {name} ON {table}")


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """A trigger that is switched off, or made by another statement, counts as missing."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgname, obj_description(oid, 'pg_trigger') FROM pg_trigger "
            "WHERE NOT tgisinternal AND tgenabled IN ('O', 'A')"
        )
        present = dict(cursor.fetchall())
    return [
        name
        for name, (_, statement) in _triggers().items()
        if present.get(name) != _mark(statement)
    ]


def _mark(statement: str) -> str:
    """Tells the form of a trigger that lies in the database from the one in this file."""
    whole = _REFUSE + _REFUSE_UNLESS_ERASED + statement
    return hashlib.sha256(whole.encode()).hexdigest()[:16]
