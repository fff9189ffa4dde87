"""Moving an embedded installation's ledger into PostgreSQL, whole or not at all.

Every table is copied as it is, in one transaction, and the copy's log proves itself before the
commit. What stores should hold is not copied: the new installation's stores are filled anew.
The data folder stays the same: its secrets open what the ledger holds, wherever it lies.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from django.apps import apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management.color import no_style
from django.db import connection, connections, models, transaction
from django.db.migrations.recorder import MigrationRecorder

from governance import audit
from governance.models import Delivery, User, Workspace

SOURCE = "embedded"
"""The alias under which the SQLite file is reached while it is copied."""

BATCH = 500


class MoveRefused(Exception):
    """Nothing was changed. Says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How many rows of how many a table has copied."""

    table: str
    done: int
    total: int


def move() -> Iterator[Progress]:
    """Copy the ledger that is reached as ``SOURCE`` into the configured, empty database.

    Raises: MoveRefused.
    """
    if connection.vendor != "postgresql":
        raise MoveRefused("MEMORYWIRE_DATABASE_URL names no PostgreSQL: there is nowhere to move.")
    _check_migrations()
    if User.objects.exists() or Workspace.objects.exists():
        raise MoveRefused("The database holds people or workspaces already: take an empty one.")
    with transaction.atomic():
        # Migrating made these with numbers of their own; the rows that point to them come along.
        Permission.objects.all().delete()
        ContentType.objects.all().delete()
        for model in _tables():
            yield from _copy(model)
        _count_on()
        for finding in audit.verify():
            raise MoveRefused(f"The copied log does not prove itself: {finding.where}.")


def _check_migrations() -> None:
    """Both must have run the same ones, or rows would not mean the same."""
    here, there = (
        set(MigrationRecorder(connections[alias]).applied_migrations())
        for alias in ("default", SOURCE)
    )
    if here != there:
        app, name = min(here ^ there)
        raise MoveRefused(
            f"Only one of the two has run the migration {app}.{name}: run 'migrate' on both."
        )


def _tables() -> list[type[models.Model]]:
    return [
        model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy and model is not Delivery
    ]


def _copy(model: type[models.Model]) -> Iterator[Progress]:
    """Foreign keys are checked at the commit, so tables may come in any order."""
    rows = model._base_manager.using(SOURCE).order_by("pk")
    total, done = rows.count(), 0
    unread = rows.iterator(chunk_size=BATCH)
    while batch := list(islice(unread, BATCH)):
        model._base_manager.using("default").bulk_create(batch)
        done += len(batch)
        yield Progress(table=model._meta.db_table, done=done, total=total)
    if model._base_manager.using("default").count() != total:
        raise MoveRefused(f"{model._meta.db_table} changed meanwhile: stop the server first.")


def _count_on() -> None:
    """New rows get numbers after those that were copied."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), _tables()):
            cursor.execute(statement)
