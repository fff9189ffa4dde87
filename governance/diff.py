"""What differs between two texts, and between two sets of fields: pure.

Words are compared whole. Scripts that write no spaces are compared by character, and a letter
with its marks or an emoji with its joiners stays in one piece.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import Match, SequenceMatcher
from enum import StrEnum
from functools import cache
from typing import Any

# Pairs of equal tokens that difflib may look at before it would keep a reviewer waiting. Agents
# choose the texts, so the worst case will be sent. Beyond it, lines are compared, then the whole.
_BUDGET_PAIRS = 1_000_000


class Kind(StrEnum):
    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"
    """Fields only: present on both sides with another value."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text that both sides share, or that only one of them has."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One leaf of two JSON objects. A side that lacks it is ``ABSENT``: null is a value."""

    path: str
    kind: Kind
    before: Any
    after: Any


class _Absent:
    """The type of ``ABSENT``."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()


def diff_words(before: str, after: str) -> tuple[Segment, ...]:
    """The two texts as one sequence of segments, a removal always before its replacement.

    Same and removed segments joined are ``before``; same and added ones are ``after``. No two
    neighbours are of one kind, none is empty.
    """
    for split in (_words, _lines, _whole):
        old, new = split(before), split(after)
        if _cost(old, new) <= _BUDGET_PAIRS:
            return tuple(_segments(old, new))
    raise AssertionError("comparing two tokens is always affordable")


def diff_fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """Every leaf of either side by its dotted path, in order of first appearance.

    Lists are leaves, and so are empty objects. A key that itself holds a dot or a quote is
    written as a JSON string, so that no two leaves share a path.
    """
    old, new = dict(_leaves(before)), dict(_leaves(after))
    return tuple(
        _change(path, old.get(path, ABSENT), new.get(path, ABSENT)) for path in {**old, **new}
    )


def _change(path: str, before: Any, after: Any) -> FieldChange:
    if before is ABSENT:
        kind = Kind.ADDED
    elif after is ABSENT:
        kind = Kind.REMOVED
    else:
        kind = Kind.SAME if _same_json(before, after) else Kind.MODIFIED
    return FieldChange(path=path, kind=kind, before=before, after=after)


def _same_json(one: Any, other: Any) -> bool:
    # As text, since Python takes 1, 1.0 and True for equal and a reader does not.
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _leaves(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        path = prefix + (key if re.fullmatch(r"[^.\"]+", key) else json.dumps(key))
        if isinstance(item, Mapping) and item:
            yield from _leaves(item, f"{path}.")
        else:
            yield path, item


def _segments(old: Sequence[str], new: Sequence[str]) -> Iterator[Segment]:
    at_old = at_new = 0
    for block in [*_shared(old, new), Match(len(old), len(new), 0)]:
        shared = old[block.a : block.a + block.size]
        parts = (
            (Kind.REMOVED, old[at_old : block.a]),
            (Kind.ADDED, new[at_new : block.b]),
            (Kind.SAME, shared),
        )
        yield from (Segment(kind, "".join(tokens)) for kind, tokens in parts if tokens)
        at_old, at_new = block.a + block.size, block.b + block.size


def _shared(old: Sequence[str], new: Sequence[str]) -> list[Match]:
    """The stretches of tokens both sides have, in order, without spaces between two changes.

    A space alone between two changed words is not worth keeping: the reader sees one change.
    """
    # Junk to the matcher: a space ties no two texts together, and there are a lot of them.
    blocks = SequenceMatcher(str.isspace, old, new, autojunk=False).get_matching_blocks()
    ends = (len(old), len(new))
    return [
        block
        for block in blocks
        if not all(map(str.isspace, old[block.a : block.a + block.size]))
        or (block.size and block.a == block.b == 0)
        or (block.size and (block.a + block.size, block.b + block.size) == ends)
    ]


def _cost(old: Iterable[str], new: Iterable[str]) -> int:
    counts = Counter(token for token in new if not token.isspace())
    return sum(counts[token] for token in old)


def _words(text: str) -> list[str]:
    return _token_pattern().findall(text)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _whole(text: str) -> list[str]:
    return [text] if text else []


@cache
def _token_pattern() -> re.Pattern[str]:
    """Matches one token after the other, leaving no character out."""
    marks = _character_class("Mn", "Mc", "Me") + "\u200c\u200d"
    tones = "\U0001f3fb-\U0001f3ff"
    # Written without spaces: Han, kana, Thai, Lao, Myanmar, Khmer.
    unspaced = (
        "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
        "\U00020000-\U0003ffff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    )
    cluster = f"(?:[{marks}{tones}]|(?<=\u200d)[^\\s\\w])*"
    letters = f"(?:[^\\W{unspaced}][{marks}]*)+"
    return re.compile(
        "\n"
        "|[^\\S\n]+"
        "|[\U0001f1e6-\U0001f1ff]{2}"  # a flag is two letters
        f"|{letters}(?:[.,'’‑-]{letters})*"
        f"|.{cluster}",
        re.DOTALL,
    )


def _character_class(*categories: str) -> str:
    """The inside of a regular expression's brackets that matches these Unicode categories."""
    # Beyond plane 1 the only marks are the variation selectors.
    found = [code for code in range(0x20000) if unicodedata.category(chr(code)) in categories]
    return "".join(map(re.escape, map(chr, found))) + "\U000e0100-\U000e01ef"
