"""Column types of our own."""

import json
from typing import Any

from django.db import models

#: A point in time as epoch milliseconds, UTC: the wire's own unit, so nothing is converted.
EpochMsField = models.BigIntegerField


def json_text(value: str) -> str:
    """A string as it stands inside the JSON text of an ``ExactJsonField``, for ``__contains``."""
    return json.dumps(value, ensure_ascii=False)


class ExactJsonField(models.TextField):  # type: ignore[type-arg]
    """JSON kept as text, so that it reads back exactly as written on every database.

    PostgreSQL's ``jsonb`` rewrites numbers (``1e22`` becomes an integer) and orders keys anew.
    """

    # What django-stubs' plugin reads: any JSON value may be set and got.
    _pyi_private_set_type: Any
    _pyi_private_get_type: Any

    def from_db_value(self, value: str | None, *_: object) -> Any:
        return None if value is None else json.loads(value)

    def to_python(self, value: Any) -> Any:
        return json.loads(value) if isinstance(value, str) else value

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else json.dumps(value, ensure_ascii=False, allow_nan=False)

    def value_to_string(self, obj: models.Model) -> str:
        return self.get_prep_value(self.value_from_object(obj)) or ""
