"""System checks, run by ``manage.py check --database default`` and before serving."""

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections

from governance.models import row_security, triggers


@register(Tags.database)
def triggers_in_place(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """The append-only triggers exist; an altering migration may have dropped them."""
    messages: list[CheckMessage] = []
    for alias in databases or []:
        connection = connections[alias]
        if "governance_auditrow" not in connection.introspection.table_names():
            continue  # not migrated yet
        if names := triggers.missing(connection):
            messages.append(
                Error(
                    f"Append-only triggers are missing: {', '.join(names)}.",
                    hint="Run 'manage.py migrate', then 'audit verify'; ask who dropped them.",
                    id="governance.E001",
                )
            )
        if row_security.is_bypassed(connection):
            messages.append(
                checks.Warning(
                    "Row-level security does not bind the role that this server connects as.",
                    hint="Connect as a role that is no superuser and has no BYPASSRLS.",
                    id="governance.W001",
                )
            )
    return messages
