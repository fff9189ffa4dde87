"""The second wall, on PostgreSQL: rows of another workspace are not there.

A connection sees the workspace named by its setting ``memorywire.workspace``, or everything where
that is ``*``; ``governance/walls.py`` sets it. Superusers and roles with BYPASSRLS see over it:
``manage.py check --database default`` warns of them.
"""

from django.db.backends.base.base import BaseDatabaseWrapper

_HERE = "current_setting('memorywire.workspace', true)"
_BY_WORKSPACE = (
    "governance_apikey", "governance_auditrow", "governance_delivery", "governance_idempotencykey",
    "governance_invitation", "governance_memory", "governance_operation", "governance_review",
    "governance_rule", "governance_sealkey",
)  # fmt: skip
#: Tables whose rows belong to a row that has a workspace: the column that names it, and its table.
_BY_PARENT = {
    "governance_decision": ("review_id", "governance_review"),
    "governance_memoryvector": ("memory_id", "governance_memory"),
    "governance_memoryversion": ("memory_id", "governance_memory"),
    "governance_recalled": ("memory_id", "governance_memory"),
    "governance_ruleversion": ("rule_id", "governance_rule"),
}
TABLES = frozenset({*_BY_WORKSPACE, *_BY_PARENT})


def install(connection: BaseDatabaseWrapper) -> None:
    """Put every policy in place. Nothing to do on SQLite, which has none."""
    if connection.vendor != "postgresql":
        return
    conditions = dict.fromkeys(_BY_WORKSPACE, f"{_HERE} IN ('*', workspace_id)")
    for table, (column, parent) in _BY_PARENT.items():
        # The parent's own policy applies in here.
        found = f"EXISTS (SELECT 1 FROM {parent} WHERE {parent}.id = {table}.{column})"
        conditions[table] = f"{_HERE} = '*' OR {found}"
    with connection.cursor() as cursor:
        for table, condition in conditions.items():
            cursor.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
            cursor.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")  # its owner too: us
            cursor.execute(f"DROP POLICY IF EXISTS workspace_wall ON {table}")
            cursor.execute(f"CREATE POLICY workspace_wall ON {table} USING ({condition})")


def is_bypassed(connection: BaseDatabaseWrapper) -> bool:
    """Whether the role we connect as sees over the wall."""
    if connection.vendor != "postgresql":
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
        (bypassed,) = cursor.fetchone()
    return bool(bypassed)
