"""Diffs: words whole, both texts always recoverable, worst cases bounded."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.diff import ABSENT, Kind, Segment, diff_fields, diff_words

# Few distinct words, so that texts share much and differ in many places.
prose = st.lists(
    st.sampled_from(
        ["nut", "pea-nut", "a", " ", "  ", "\n", ".", "中", "文", "👩\u200d🚀", "🇩🇪", "é"]
    ),
    max_size=30,
).map("".join)
json_leaves = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(0, 1) | st.text(max_size=3)
objects = st.recursive(
    st.dictionaries(st.text('ab."', max_size=3), json_leaves, max_size=4),
    lambda inner: st.dictionaries(st.text('ab."', max_size=3), inner | json_leaves, max_size=3),
    max_leaves=8,
)


def show(before: str, after: str) -> str:
    wrap = {Kind.SAME: "{}", Kind.ADDED: "[+{}]", Kind.REMOVED: "[-{}]"}
    return "".join(wrap[part.kind].format(part.text) for part in diff_words(before, after))


def joined(segments: tuple[Segment, ...], *kinds: Kind) -> str:
    return "".join(part.text for part in segments if part.kind in kinds)


@given(prose | st.text(), prose | st.text())
def test_a_diff_holds_both_texts_whole(before, after):
    segments = diff_words(before, after)
    assert joined(segments, Kind.SAME, Kind.REMOVED) == before
    assert joined(segments, Kind.SAME, Kind.ADDED) == after


@given(prose, prose)
def test_neighbours_are_of_different_kinds_and_a_removal_comes_first(before, after):
    segments = diff_words(before, after)
    kinds = [part.kind for part in segments]
    assert all(part.text for part in segments)
    assert all(one != other for one, other in pairwise(kinds))
    assert (Kind.ADDED, Kind.REMOVED) not in pairwise(kinds)


@given(prose | st.text())
def test_equal_texts_have_no_change(text):
    assert {part.kind for part in diff_words(text, text)} <= {Kind.SAME}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            "allergic to tree nuts; ask for a nut-free meal.",
            "allergic to peanuts, not tree nuts; ask for a peanut-free meal.",
            "allergic to [+peanuts, not ]tree nuts; ask for a [-nut-free][+peanut-free] meal.",
        ),
        ("rate 3.5", "rate 3.55", "rate [-3.5][+3.55]"),
        ("one two", "uno dos", "[-one two][+uno dos]"),
        ("花生过敏", "坚果过敏", "[-花生][+坚果]过敏"),
        ("ถั่ว", "ถั่วลิสง", "ถั่ว[+ลิสง]"),
        ("हिन्दी भाषा", "हिन्दू भाषा", "[-हिन्दी][+हिन्दू] भाषा"),
        ("go 👩\u200d🚀", "go 👨\u200d🚀", "go [-👩\u200d🚀][+👨\u200d🚀]"),
        ("👍🏽 ok", "👍🏿 ok", "[-👍🏽][+👍🏿] ok"),
        ("", "new", "[+new]"),
        ("old", "", "[-old]"),
    ],
)
def test_words_are_compared_whole_and_unspaced_scripts_by_character(before, after, expected):
    assert show(before, after) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a b " * 25_000, "b a " * 25_000),
        ("a\n" * 50_000, "a\nb\n" * 25_000),
        ("x" * 100_000, "y" * 100_000),
        (" " * 100_000, " " * 99_999),
        ("\u0301" * 100_000, "\u0301a" * 50_000),
        ("a-" * 50_000, "a." * 50_000),
    ],
)
def test_the_longest_texts_an_agent_may_send_are_compared_quickly(before, after):
    started = time.process_time()
    segments = diff_words(before, after)
    assert time.process_time() - started < 3
    assert joined(segments, Kind.SAME, Kind.ADDED) == after


@given(objects, objects)
def test_a_field_diff_holds_every_leaf_of_both_sides(before, after):
    changes = diff_fields(before, after)
    old = {item.path: item.before for item in changes if item.before is not ABSENT}
    new = {item.path: item.after for item in changes if item.after is not ABSENT}
    assert old == {item.path: item.after for item in diff_fields({}, before)}
    assert new == {item.path: item.after for item in diff_fields({}, after)}


def test_fields_are_named_by_dotted_path_and_say_how_they_changed():
    before = {"confidence": 1, "metadata": {"a.b": 1, "tags": ["x"], "gone": None}}
    after = {"confidence": 1.0, "metadata": {"a.b": 1, "tags": ["x", "y"], "a": {"b": 2}}}
    assert [(item.path, item.kind.value) for item in diff_fields(before, after)] == [
        ("confidence", "modified"),
        ('metadata."a.b"', "same"),
        ("metadata.tags", "modified"),
        ("metadata.gone", "removed"),
        ("metadata.a.b", "added"),
    ]
