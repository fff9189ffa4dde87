"""Strict JSON: what a request body may be, and the code of each refusal."""

import json
import sys
import traceback
from time import perf_counter
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stores.wire import limits
from stores.wire.strict_json import NUMBER_MAX_CHARACTERS, StrictJsonError, loads

DEEPEST = limits.JSON_MAX_DEPTH

clean_text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | clean_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(clean_text, inner, max_size=4),
    max_leaves=20,
)


def refusal(body: bytes) -> StrictJsonError:
    with pytest.raises(StrictJsonError) as caught:
        loads(body)
    return caught.value


@given(json_values, st.booleans())
def test_every_clean_value_comes_back_as_it_was(value: Any, ascii_only: bool) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only).encode()

    assert loads(body) == value


@given(st.binary(max_size=60) | st.text('[]{}",:\\u0d8-1e.NnaIfity', max_size=60).map(str.encode))
@example(b'"\\ud83d\\ude00"')
@example(b'{"a":1,"a":1}')
def test_no_body_raises_anything_but_its_own_error(body: bytes) -> None:
    try:
        value = loads(body)
    except StrictJsonError:
        return
    json.dumps(value, allow_nan=False, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "json_invalid"),
        (b"{", "json_invalid"),
        (b"{} {}", "json_invalid"),
        (b"{'a': 1}", "json_invalid"),
        (b'{"a": 1,}', "json_invalid"),
        (b"[01]", "json_invalid"),
        (b"[.5]", "json_invalid"),
        (b'"\t"', "json_invalid"),
        (b'"\\x"', "json_invalid"),
        (b'\xef\xbb\xbf{"a": 1}', "json_invalid"),
        ('"caf\u00e9"'.encode("latin-1"), "json_not_utf8"),
        (b'"\xed\xa0\x80"', "json_not_utf8"),
        ('{"a": 1}'.encode("utf-16"), "json_not_utf8"),
        (b"NaN", "json_not_finite"),
        (b"[Infinity]", "json_not_finite"),
        (b"[-Infinity]", "json_not_finite"),
        (b"[1e400]", "json_not_finite"),
        (b"[-1e400]", "json_not_finite"),
        (b'{"a": 1, "b": 2, "a": 1}', "json_duplicate_key"),
        (b'{"\\u0061": 1, "a": 1}', "json_duplicate_key"),
        (b'{"outer": [{"a": 1, "a": 1}]}', "json_duplicate_key"),
    ],
)
def test_a_body_that_is_not_strict_json_is_refused_by_code(body: bytes, code: str) -> None:
    assert refusal(body).code == code


@pytest.mark.parametrize(
    ("body", "code", "path"),
    [
        (b'"\\u0000"', "json_nul_character", ()),
        (b'{"a": [1, {"b": "x\\u0000"}]}', "json_nul_character", ("a", 1, "b")),
        (b'{"a": {"k\\u0000": 1}}', "json_nul_character", ("a",)),
        (b'["\\ud83d"]', "json_lone_surrogate", (0,)),
        (b'["\\ude00\\ud83d"]', "json_lone_surrogate", (0,)),
        (b'{"\\uDBFF": 1}', "json_lone_surrogate", ()),
    ],
)
def test_unstorable_characters_are_refused_with_their_place(
    body: bytes, code: str, path: tuple[str | int, ...]
) -> None:
    error = refusal(body)

    assert (error.code, error.path) == (code, path)


def test_escaped_pairs_and_escaped_backslashes_are_fine() -> None:
    assert loads(b'["\\ud83d\\ude00", "\\\\u0000", "\\\\ud800"]') == ["😀", "\\u0000", "\\ud800"]


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_depth_is_bounded_exactly(opening: str) -> None:
    closing = {"[": "]"}.get(opening, "}")

    def nested(depth: int) -> bytes:
        return (opening * depth + "0" + closing * depth).encode()

    assert loads(nested(DEEPEST)) is not None
    assert refusal(nested(DEEPEST + 1)).code == "json_too_deep"


def test_breadth_is_not_depth() -> None:
    body = json.dumps([[{"a": "[[[{{{"}]] * 1_000).encode()

    assert len(loads(body)) == 1_000


def test_brackets_inside_strings_are_not_depth() -> None:
    body = json.dumps({"a": "[" * 100, 'b"\\': '\\"{' * 100}).encode()

    assert loads(body)["a"] == "[" * 100


@pytest.mark.parametrize(
    "body",
    [
        b"[" * limits.BODY_MAX_BYTES,
        b'{"a":' * 200_000,
        b"[" + b"[]," * 40 + b'"' + b'\\"' * 500_000,  # a string that never ends
        b'"' * limits.BODY_MAX_BYTES,
        b"1" * limits.BODY_MAX_BYTES,
        b"0." + b"1" * 1_000_000,
        b"1e" + b"9" * 1_000_000,
        b"[]," * 300_000,
        b"[" + b"[]," * 300_000 + b"[]",
    ],
)
def test_hostile_bodies_are_refused_quickly(body: bytes) -> None:
    started = perf_counter()
    refusal(body)

    assert perf_counter() - started < 2  # seconds; quadratic time would take minutes


def test_big_integers_stay_exact() -> None:
    assert loads(b"[9007199254740993, -123456789012345678901234567890]") == [
        9007199254740993,
        -123456789012345678901234567890,
    ]


def test_numbers_are_bounded_whatever_the_interpreter_allows() -> None:
    assert loads(b"9" * NUMBER_MAX_CHARACTERS) == 10**NUMBER_MAX_CHARACTERS - 1
    before = sys.get_int_max_str_digits()
    try:
        for allowed in (0, 640, before):
            sys.set_int_max_str_digits(allowed)
            assert refusal(b"9" * (NUMBER_MAX_CHARACTERS + 1)).code == "json_number_too_long"
            assert refusal(b"0." + b"9" * NUMBER_MAX_CHARACTERS).code == "json_number_too_long"
        sys.set_int_max_str_digits(640)
        assert refusal(b"9" * 641).code == "json_number_too_long"
    finally:
        sys.set_int_max_str_digits(before)


def test_the_size_is_bounded_exactly_and_in_bytes() -> None:
    assert loads(b'"' + b"a" * (limits.BODY_MAX_BYTES - 2) + b'"')
    assert refusal(b" " * limits.BODY_MAX_BYTES + b"1").code == "body_too_large"
    assert refusal('"é"'.encode() * (limits.BODY_MAX_BYTES // 4 + 1)).code == "body_too_large"


@pytest.mark.parametrize(
    "body",
    [b'{"password": "hunter2" nope}', b'{"password": "hunter2\\u0000"}', b'["hunter2", NaN]'],
)
def test_a_refusal_repeats_no_values(body: bytes) -> None:
    assert "hunter2" not in "".join(traceback.format_exception(refusal(body)))


def test_a_repeated_key_is_named_in_printable_characters() -> None:
    message = str(refusal(b'{"\\ud800": 1, "\\ud800": 2}'))

    assert message == r'An object holds the key "\ud800" twice.'


def test_a_typical_body_takes_well_under_a_tenth_of_a_millisecond() -> None:
    request = {"agent_id": "a", "type": "semantic", "content": "x" * 800, "confidence": 0.9}
    body = json.dumps(request | {"metadata": {"tags": ["a", "b"], "n": 12}}).encode()

    def seconds() -> float:
        started = perf_counter()
        for _ in range(100):
            loads(body)
        return (perf_counter() - started) / 100

    assert min(seconds() for _ in range(20)) < 0.000_1
