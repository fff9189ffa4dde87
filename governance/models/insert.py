"""Insert one row with one statement that is put together once per model.

``save(force_insert=True)`` compiles its statement anew for every row, which takes longer than
SQLite takes to run it. A remember inserts six rows, and these are the rows it inserts.
"""

from functools import cache
from typing import TypeVar

from django.db import connection, models

M = TypeVar("M", bound=models.Model)


def insert(row: M) -> M:
    """Write a new row as it is, in the caller's transaction; sends no signals. Returns the row.

    A key the database makes is set on it. Raises: IntegrityError.
    """
    statement, fields = _statement(type(row), connection.vendor)
    values = [field.get_db_prep_save(field.pre_save(row, True), connection) for field in fields]
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        if row.pk is None:
            row.pk = cursor.fetchone()[0]
    row._state.adding = False
    row._state.db = connection.alias
    return row


@cache
def _statement(
    model: type[models.Model], vendor: str
) -> tuple[str, list["models.Field[object, object]"]]:
    """The INSERT and its columns' fields. ``vendor`` is part of the key: it decides the quotes."""
    made = model._meta.auto_field
    fields = [field for field in model._meta.local_concrete_fields if field is not made]
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    statement = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ({places})"
    if made is not None:
        statement += f" RETURNING {quote(str(made.column))}"
    return statement, fields
