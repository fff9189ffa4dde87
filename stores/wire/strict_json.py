"""Request bodies as JSON that every store and every other reader understands alike.

The standard library accepts more than JSON and keeps silent where JSON is ambiguous: NaN, two
equal keys, half a surrogate pair, a number too large to be finite. Here each of these is an error
with a code. Whole numbers stay exact.
"""

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any, NoReturn

from stores.wire import limits

#: Where a value stands: keys and list indices from the outside in, as in pydantic's ``loc``.
Path = tuple[str | int, ...]

#: Characters a number may be written with. Reading many more takes quadratic time.
NUMBER_MAX_CHARACTERS = 4_300
_KEY_SHOWN_CHARACTERS = 60

# The end of a string is optional, so that one that never ends is read once, not once per quote.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
# JSON text cannot hold U+0000 or, once it is UTF-8, a surrogate other than as such an escape.
_SUSPECT_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_NUL = "\x00"
_SURROGATE = re.compile("[\ud800-\udfff]")


class StrictJsonError(ValueError):
    """The body is refused. The message quotes no values from it.

    ``code`` is one of body_too_large, json_not_utf8, json_invalid, json_too_deep,
    json_not_finite, json_number_too_long, json_duplicate_key, json_nul_character and
    json_lone_surrogate. ``path`` is where the fault lies, or None where that is not known; for a
    bad key it is the path of the object.
    """

    def __init__(self, code: str, message: str, *, path: Path | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.path = path


def loads(body: bytes) -> Any:
    """Reads a request body.

    Args:
        body: JSON in UTF-8, without a byte order mark, at most ``limits.BODY_MAX_BYTES`` long and
            nested at most ``limits.JSON_MAX_DEPTH`` deep (``[]`` is 1 deep).
    Returns: dict, list, str, int, float (finite), bool or None.
    Raises: StrictJsonError, and nothing else.
    """
    if len(body) > limits.BODY_MAX_BYTES:
        raise StrictJsonError(
            "body_too_large", f"The body is larger than {limits.BODY_MAX_BYTES} bytes."
        )
    text = _decode(body)
    _check_depth(text)
    value = _parse(text)
    if _SUSPECT_ESCAPE.search(text):
        _check_strings(value)
    return value


def _decode(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        # Here and in _parse the cause is dropped: it says no more, and carries the whole body.
        raise StrictJsonError(
            "json_not_utf8", f"The body is not UTF-8 at byte {error.start}."
        ) from None


def _check_depth(text: str) -> None:
    """Before parsing, since the parser recurses."""
    # Most bodies hold fewer brackets than they may be deep.
    if text.count("[") + text.count("{") <= limits.JSON_MAX_DEPTH:
        return
    depth = 0
    for token in _STRING_OR_BRACKET.finditer(text):
        first = text[token.start()]
        if first in "[{":
            depth += 1
            if depth > limits.JSON_MAX_DEPTH:
                raise StrictJsonError(
                    "json_too_deep",
                    f"The JSON is nested more than {limits.JSON_MAX_DEPTH} deep.",
                )
        elif first in "]}":
            depth -= 1


def _parse(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise StrictJsonError(
            "json_invalid",
            f"Not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}.",
        ) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise StrictJsonError(
            "json_duplicate_key", f"An object holds the key {_first_repeated(pairs)} twice."
        )
    return result


def _first_repeated(pairs: list[tuple[str, Any]]) -> str:
    """The key as a JSON string in ASCII, shortened: it may hold anything."""
    counts = Counter(key for key, _ in pairs)
    repeated = next(key for key, count in counts.items() if count > 1)
    return json.dumps(repeated[:_KEY_SHOWN_CHARACTERS])


def _int(digits: str) -> int:
    _check_length(digits)
    try:
        return int(digits)
    except ValueError:  # the interpreter's own limit may be set lower than ours
        raise _number_too_long(sys.get_int_max_str_digits()) from None


def _float(digits: str) -> float:
    _check_length(digits)
    value = float(digits)
    if math.isinf(value):
        raise StrictJsonError("json_not_finite", "A number is too large to be finite.")
    return value


def _check_length(digits: str) -> None:
    if len(digits) > NUMBER_MAX_CHARACTERS:
        raise _number_too_long(NUMBER_MAX_CHARACTERS)


def _number_too_long(limit: int) -> StrictJsonError:
    return StrictJsonError(
        "json_number_too_long", f"A number is written with more than {limit} characters."
    )


def _constant(name: str) -> NoReturn:
    raise StrictJsonError("json_not_finite", f"{name} is not a JSON number.")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_int, parse_float=_float, parse_constant=_constant
)


def _check_strings(value: Any) -> None:
    for path, string in _strings(value, ()):
        if _NUL in string:
            raise StrictJsonError(
                "json_nul_character", "A string holds the character U+0000.", path=path
            )
        if _SURROGATE.search(string):
            raise StrictJsonError(
                "json_lone_surrogate", "A string holds half of a surrogate pair.", path=path
            )


def _strings(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Every string and key, with its path. A key comes before its value, so paths are clean."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield path, key
            yield from _strings(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _strings(item, (*path, index))
