"""The filter language: parsed once into a small tree, evaluated by one pure function.

A filter is a JSON object. Every key is a condition and all of them must hold::

    {"type": "semantic", "priority": {"$gte": 3}, "$or": [{"team": "red"}, {"team": "blue"}]}

Keys. ``$and``, ``$or`` and ``$not`` combine filters. Any other key is a path: one of the record's
own fields (``OWN_FIELDS``), else a metadata key. ``metadata.`` in front always means metadata.
In metadata a literal key wins (``"a.b"``) before dots descend into objects.

Values. A plain value asks for equality. A list also matches a stored list that holds each of its
items. An object whose keys start with ``$`` holds operators: ``$eq $ne $in $nin $gt $gte $lt $lte
$exists $contains $not``. A plain null is refused, since "null" and "not given" are easily mixed up:
say ``{"$eq": null}`` or ``{"$exists": false}``.

Comparison. Types are strict: ``true`` is not ``1`` and ``"5"`` is not ``5``, but ``1`` is ``1.0``.
Order exists between two numbers or two strings; anything else is not greater and not less. A
missing value equals nothing, not even null, so ``$ne`` and ``$nin`` hold for it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from stores.wire import MemoryRecord, limits

OWN_FIELDS: Final = frozenset(
    {"id", "user_id", "type", "confidence", "source", "created_at", "updated_at", "expires_at"}
)
_METADATA_PREFIX: Final = "metadata."


class FilterError(ValueError):
    """The filter uses something the language does not have; the message names it and its path."""

    def __init__(self, message: str, *, path: str, operator: str | None = None) -> None:
        super().__init__(f"{path or 'filter'}: {message}")
        self.path = path
        self.operator = operator


class Order(StrEnum):
    GT = "$gt"
    GTE = "$gte"
    LT = "$lt"
    LTE = "$lte"


@dataclass(frozen=True, slots=True)
class Equals:
    path: str
    value: Any


@dataclass(frozen=True, slots=True)
class EqualsOrHoldsAll:
    """The stored value equals the list, or is a list that holds each of its items."""

    path: str
    items: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class IsIn:
    path: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Compares:
    path: str
    order: Order
    value: int | float | str


@dataclass(frozen=True, slots=True)
class Exists:
    path: str


@dataclass(frozen=True, slots=True)
class Contains:
    """The stored list holds the value, or the stored string contains it."""

    path: str
    value: Any


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple["Filter", ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: "Filter"


Filter = Equals | EqualsOrHoldsAll | IsIn | Compares | Exists | Contains | And | Or | Not


def parse(obj: Mapping[str, Any]) -> Filter:
    """Read a filter object. The empty object matches everything; an empty one inside is refused.

    Raises: FilterError.
    """
    return _parse_object(obj, depth=0)


def matches(condition: Filter, record: MemoryRecord) -> bool:
    """Whether the record fulfils the condition. Pure."""
    match condition:
        case And(parts):
            return all(matches(part, record) for part in parts)
        case Or(parts):
            return any(matches(part, record) for part in parts)
        case Not(part):
            return not matches(part, record)
        case _:
            return _holds(condition, _lookup(record, condition.path))


# --- reading -------------------------------------------------------------------------------------


def _parse_object(obj: Mapping[str, Any], *, depth: int) -> Filter:
    if depth > limits.JSON_MAX_DEPTH:
        raise FilterError(f"is nested deeper than {limits.JSON_MAX_DEPTH}", path="")
    parts = [_parse_entry(key, value, depth=depth) for key, value in obj.items()]
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _parse_entry(key: str, value: Any, *, depth: int) -> Filter:
    if key in ("$and", "$or"):
        if not isinstance(value, list) or not value:
            raise FilterError("takes a list of at least one filter", path=key, operator=key)
        parts = tuple(_parse_inner(key, item, depth=depth) for item in value)
        return And(parts) if key == "$and" else Or(parts)
    if key == "$not":
        return Not(_parse_inner(key, value, depth=depth))
    if key.startswith("$"):
        raise FilterError(f"unknown operator {key}", path="", operator=key)
    return _parse_condition(key, value, depth=depth)


def _parse_inner(operator: str, value: Any, *, depth: int) -> Filter:
    # An empty object here would match everything, which nobody means.
    if not isinstance(value, dict) or not value:
        raise FilterError("takes filters that are not empty", path=operator, operator=operator)
    return _parse_object(value, depth=depth + 1)


def _parse_condition(path: str, value: Any, *, depth: int) -> Filter:
    if value is None:
        raise FilterError('null is ambiguous: use {"$eq": null} or {"$exists": false}', path=path)
    if isinstance(value, list):
        return EqualsOrHoldsAll(path, tuple(value))
    if isinstance(value, dict) and any(key.startswith("$") for key in value):
        return _parse_operators(path, value, depth=depth)
    return Equals(path, value)


def _parse_operators(path: str, operators: Mapping[str, Any], *, depth: int) -> Filter:
    if depth > limits.JSON_MAX_DEPTH:
        raise FilterError(f"is nested deeper than {limits.JSON_MAX_DEPTH}", path=path)
    parts: list[Filter] = []
    for operator, operand in operators.items():
        if operator == "$not":
            parts.append(Not(_parse_negated(path, operand, depth=depth)))
            continue
        build = _OPERATORS.get(operator)
        if build is None:
            raise FilterError(f"unknown operator {operator}", path=path, operator=operator)
        parts.append(build(path, operator, operand))
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _parse_negated(path: str, operand: Any, *, depth: int) -> Filter:
    if not isinstance(operand, dict) or not operand:
        raise FilterError("$not takes an object of operators", path=path, operator="$not")
    return _parse_operators(path, operand, depth=depth + 1)


def _build_membership(path: str, operator: str, operand: Any) -> Filter:
    if not isinstance(operand, list):
        raise FilterError(f"{operator} takes a list", path=path, operator=operator)
    member = IsIn(path, tuple(operand))
    return member if operator == "$in" else Not(member)


def _build_comparison(path: str, operator: str, operand: Any) -> Filter:
    if not _is_number(operand) and not isinstance(operand, str):
        raise FilterError(f"{operator} takes a number or a string", path=path, operator=operator)
    return Compares(path, Order(operator), operand)


def _build_existence(path: str, operator: str, operand: Any) -> Filter:
    if not isinstance(operand, bool):
        raise FilterError("$exists takes true or false", path=path, operator=operator)
    return Exists(path) if operand else Not(Exists(path))


_OPERATORS: Final[Mapping[str, Callable[[str, str, Any], Filter]]] = {
    "$eq": lambda path, _, operand: Equals(path, operand),
    "$ne": lambda path, _, operand: Not(Equals(path, operand)),
    "$in": _build_membership,
    "$nin": _build_membership,
    "$gt": _build_comparison,
    "$gte": _build_comparison,
    "$lt": _build_comparison,
    "$lte": _build_comparison,
    "$exists": _build_existence,
    "$contains": lambda path, _, operand: Contains(path, operand),
}


# --- evaluating ----------------------------------------------------------------------------------

_MISSING: Final = object()


def _lookup(record: MemoryRecord, path: str) -> Any:
    if path in OWN_FIELDS:
        value = getattr(record, path)
        # A field that was never given is absent, as it is on the wire.
        return _MISSING if value is None else value
    value = _descend(record.metadata, path)
    if value is _MISSING and path.startswith(_METADATA_PREFIX):
        return _descend(record.metadata, path.removeprefix(_METADATA_PREFIX))
    return value


def _descend(value: Any, path: str) -> Any:
    if not isinstance(value, dict):
        return _MISSING
    if path in value:
        return value[path]
    head, dot, rest = path.partition(".")
    return _descend(value.get(head), rest) if dot else _MISSING


def _holds(
    condition: Equals | EqualsOrHoldsAll | IsIn | Compares | Exists | Contains, stored: Any
) -> bool:
    if stored is _MISSING:
        return False
    match condition:
        case Exists():
            return True
        case Equals(_, value):
            return _same(stored, value)
        case IsIn(_, values):
            return any(_same(stored, value) for value in values)
        case EqualsOrHoldsAll(_, items):
            return _same(stored, list(items)) or _holds_all(stored, items)
        case Contains(_, value):
            return _contains(stored, value)
        case Compares(_, order, value):
            return _compares(stored, order, value)


def _holds_all(stored: Any, items: tuple[Any, ...]) -> bool:
    # "Each of no items" would be true of every list: an empty list only equals an empty list.
    return isinstance(stored, list) and bool(items) and all(_contains(stored, i) for i in items)


def _contains(stored: Any, value: Any) -> bool:
    if isinstance(stored, list):
        return any(_same(item, value) for item in stored)
    return isinstance(stored, str) and isinstance(value, str) and value in stored


def _compares(stored: Any, order: Order, value: int | float | str) -> bool:
    comparable = (_is_number(stored) and _is_number(value)) or (
        isinstance(stored, str) and isinstance(value, str)
    )
    if not comparable:
        return False
    match order:
        case Order.GT:
            return bool(stored > value)
        case Order.GTE:
            return bool(stored >= value)
        case Order.LT:
            return bool(stored < value)
        case Order.LTE:
            return bool(stored <= value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(left: Any, right: Any) -> bool:
    """JSON equality, in which booleans are not numbers."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)
