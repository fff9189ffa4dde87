"""Database triggers that refuse to change what must stay: the audit log and closed versions.

They stop mistakes and casual tampering through any connection, the ORM's included; whoever drops
them first is found by ``manage.py audit verify``.
"""

from types import ModuleType
from typing import Any

from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from governance.models import row_security
from governance.models.triggers import postgresql, sqlite


def install(connection: BaseDatabaseWrapper) -> None:
    """Put every trigger in place, replacing older forms. Safe to run at any time."""
    _dialect(connection).install(connection)


def drop(connection: BaseDatabaseWrapper) -> None:
    """Take them away: for tests that empty the tables, and for nothing else."""
    _dialect(connection).drop(connection)


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """Names of triggers that should be there, in this very form, and are not."""
    names: list[str] = _dialect(connection).missing(connection)
    return names


def reinstall(*, using: str, **_: Any) -> None:
    """After every migrate: SQLite rebuilds a table to alter it and drops its triggers."""
    connection = connections[using]
    try:
        install(connection)
        row_security.install(connection)
    except DatabaseError:
        # A migrate that went backwards past the tables has nothing left to guard.
        if "governance_auditrow" in connection.introspection.table_names():
            raise


def _dialect(connection: BaseDatabaseWrapper) -> ModuleType:
    return postgresql if connection.vendor == "postgresql" else sqlite
