"""A filter's necessary condition in SQL: it narrows what the evaluator then decides.

``narrowing(f)`` holds for every memory that ``filters.matches(f, ...)`` accepts, and usually for
few others. The evaluator has the last word, so a condition that SQL cannot say costs time, not
correctness.
"""

from django.db.models import Q

from governance.models.fields import json_text
from stores import filters

_TEXT_FIELDS = {"id": "pk", "user_id": "user_id", "type": "type", "source": "source"}
_NUMBER_FIELDS = frozenset({"confidence", "created_at", "updated_at", "expires_at"})
_BIGGEST = 2**63 - 1  # what the database's integers can be compared with
_EVERYTHING = Q()


def narrowing(condition: filters.Filter) -> Q:
    """A condition on ``Memory`` rows that every matching memory meets."""
    match condition:
        case filters.And(parts):
            return _all(parts)
        case filters.Or(parts):
            return _any(parts)
        case filters.Equals(path, value):
            return _equals(path, value)
        case filters.IsIn(path, values):
            return _is_in(path, values)
        case filters.Compares(path, order, value):
            return _compares(path, order, value)
        case _:
            return _EVERYTHING


def _all(parts: tuple[filters.Filter, ...]) -> Q:
    together = Q()
    for part in parts:
        together &= narrowing(part)
    return together


def _any(parts: tuple[filters.Filter, ...]) -> Q:
    each = [narrowing(part) for part in parts]
    if not all(each):
        return _EVERYTHING  # one part says nothing, so the whole does not either
    either = Q()
    for part in each:
        either |= part
    return either


def _equals(path: str, value: object) -> Q:
    if not isinstance(value, str):
        return _EVERYTHING  # 1 equals 1.0, and neither's text contains the other's
    if path in _TEXT_FIELDS:
        return Q(**{_TEXT_FIELDS[path]: value})
    if path in filters.OWN_FIELDS:
        return _EVERYTHING
    # Metadata is JSON text: a memory that has this value somewhere has its JSON form in it.
    return Q(metadata__contains=json_text(value))


def _is_in(path: str, values: tuple[object, ...]) -> Q:
    if path in _TEXT_FIELDS and all(isinstance(value, str) for value in values):
        return Q(**{f"{_TEXT_FIELDS[path]}__in": values})
    return _EVERYTHING


def _compares(path: str, order: filters.Order, value: int | float | str) -> Q:
    if path not in _NUMBER_FIELDS or isinstance(value, str) or abs(value) > _BIGGEST:
        return _EVERYTHING
    return Q(**{f"{path}__{order.value.removeprefix('$')}": value})
