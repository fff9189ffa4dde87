"""Finding what a reader would not see, would see in another order or take for another: pure.

Marked are control and format characters, everything Unicode lets a font draw as nothing, spaces
other than the ordinary one, and code points without a meaning. Not marked are the joiners and
selectors that emoji, Arabic and Indic scripts are written with, in the places they belong. Letters
that pass for those of another script are marked too: see ``look_alikes``.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import groupby

from governance.screening import look_alikes

_NAMES = {
    0x00A0: "NBSP", 0x00AD: "SHY", 0x034F: "CGJ", 0x061C: "ALM", 0x180E: "MVS", 0x200B: "ZWSP",
    0x200C: "ZWNJ", 0x200D: "ZWJ", 0x200E: "LRM", 0x200F: "RLM", 0x2028: "LS", 0x2029: "PS",
    0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF", 0x202D: "LRO", 0x202E: "RLO", 0x202F: "NNBSP",
    0x2060: "WJ", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI", 0xFEFF: "ZWNBSP",
    0x0009: "TAB", 0x000D: "CR", 0x001B: "ESC", 0x007F: "DEL", 0x0085: "NEL",
}  # fmt: skip

# Drawn as nothing though Unicode calls them letters, marks or symbols.
_BLANK = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U0001d159\U000e0000-\U000e0fff"
)
# Format characters that are drawn: number and verse signs, hieroglyph joiners.
_DRAWN = "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U00013430-\U0001343f"

_blank = re.compile(f"[{_BLANK}]")
_drawn = re.compile(f"[{_DRAWN}]")
# Printable ASCII, line ends and tabs are most of any text: skipped at the speed of C.
_suspect = re.compile("[^\n\t -~]")
_MARKED_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})

_BLACK_FLAG = "\U0001f3f4"
_TAG_END = "\U000e007f"


def _tags(text: str) -> str:
    return "".join(chr(0xE0000 + ord(char)) for char in text)


# The three flags that are written with tags.
_TAG_FLAGS = tuple(_BLACK_FLAG + _tags(region) + _TAG_END for region in ("gbeng", "gbsct", "gbwls"))


@dataclass(frozen=True, slots=True)
class Mark:
    """One character that has to be shown by name, or several of a kind in a row."""

    raw: str
    short: str
    """``ZWSP``, ``3 × ZWSP``, ``50 tag characters``: for lists."""
    label: str
    """With the code point: ``U+200B ZWSP``."""
    spells: str = ""
    """What a run of tag characters says to a model that reads them as letters."""
    is_hidden: bool = True
    """False: it is seen, and passes for something else."""


Run = str | Mark


def split(text: str, *, start: int = 0, end: int | None = None) -> tuple[Run, ...]:
    """The text, or a slice of it, as plain runs and marks in order.

    Two plain runs are never neighbours. The characters around a slice count: whether a joiner
    belongs depends on what stands beside it.
    """
    return tuple(_runs(text, start, len(text) if end is None else end))


def count(text: str) -> int:
    """How many characters of the text a reader would not see."""
    return sum(_is_marked(text, found.start()) for found in _suspect.finditer(text))


def _runs(text: str, start: int, end: int) -> Iterator[Run]:
    plain_from = start
    hidden = (
        found.start()
        for found in _suspect.finditer(text, start, end)
        if _is_marked(text, found.start())
    )
    marked = merge(hidden, look_alikes.positions(text, start, end))
    for _, group in groupby(enumerate(marked), lambda pair: _run_key(text, *pair)):
        positions = [position for _, position in group]
        first, after = positions[0], positions[-1] + 1
        if first > plain_from:
            yield text[plain_from:first]
        yield _mark(text[first:after])
        plain_from = after
    if plain_from < end:
        yield text[plain_from:end]


def _run_key(text: str, number: int, position: int) -> tuple[int, str]:
    # Position minus running number is constant while marked characters follow one another.
    return position - number, _family(text[position]) or text[position]


def _family(char: str) -> str:
    code = ord(char)
    if 0xE0000 <= code <= 0xE007F:
        return "tag character"
    if 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF:
        return "variation selector"
    return ""


def _mark(raw: str) -> Mark:
    code, family = ord(raw[0]), _family(raw[0])
    if not _is_unseen(raw[0]):
        short = f"{raw} U+{code:04X}"
        return Mark(raw, short, f"{short} {_describe(raw[0])}", is_hidden=False)
    spells = "".join(chr(ord(char) - 0xE0000) for char in raw if "\U000e0020" <= char < _TAG_END)
    if family and len(raw) > 1:
        label = f"{len(raw)} {family}s"
        return Mark(raw, label, label, spells)
    name = _NAMES.get(code) or family.removesuffix(" character") or _describe(raw[0])
    point = f"U+{code:04X}"
    short = name if code in _NAMES else f"{point} {name}"
    times = f"{len(raw)} × " if len(raw) > 1 else ""
    return Mark(raw, times + short, f"{times}{point} {name}", spells)


def _describe(char: str) -> str:
    fallback = {"Cc": "control", "Co": "private use", "Cs": "surrogate"}
    default = fallback.get(unicodedata.category(char), "unassigned")
    return unicodedata.name(char, default).lower()


def _is_marked(text: str, at: int) -> bool:
    char = text[at]
    if char == "\r":
        return text[at + 1 : at + 2] != "\n"
    if not _is_unseen(char):
        return False
    return not (_drawn.match(char) or _belongs(text, at))


def _is_unseen(char: str) -> bool:
    return bool(unicodedata.category(char) in _MARKED_CATEGORIES or _blank.match(char))


def _belongs(text: str, at: int) -> bool:
    """Whether a mostly invisible character does here what it exists for."""
    char, before, after = text[at], text[at - 1 : at], text[at + 1 : at + 2]
    if not before:
        return False
    if char in "\u200c\u200d":
        return _joins(char, text, at)
    if "\ufe00" <= char <= "\ufe0f":
        return _selects(char, before, after)
    if "\U000e0100" <= char <= "\U000e01ef":
        return _is_han(before)
    if "\U000e0020" <= char <= _TAG_END:
        return _in_tag_flag(text, at)
    if char in "\u180b\u180c\u180d\u180e\u180f":
        return "\u1820" <= before <= "\u18aa"  # Mongolian letters
    if char == "\u3000":
        return _is_east_asian(before)
    return False


def _joins(char: str, text: str, at: int) -> bool:
    before, after = text[at - 1], text[at + 1 : at + 2]
    if not after:
        return False
    if char == "\u200d" and _is_pictograph(after):
        # Between the parts of one emoji; a tone or selector may close the part before.
        return _is_pictograph(before) or before == "\ufe0f"
    if _is_virama(before) or (_is_virama(after) and before.isalpha()):
        return True  # conjuncts and half forms of the Indic scripts
    return _is_cursive(_letter_before(text, at)) and _is_cursive(after)


def _letter_before(text: str, at: int) -> str:
    while at > 0 and unicodedata.combining(text[at - 1]):
        at -= 1
    return text[at - 1] if at else ""


def _selects(char: str, before: str, after: str) -> bool:
    if char in "\ufe0e\ufe0f":
        return _is_pictograph(before) or (before in "#*0123456789" and after == "\u20e3")
    return _is_han(before) or unicodedata.category(before) == "Sm"


def _in_tag_flag(text: str, at: int) -> bool:
    base = text.rfind(_BLACK_FLAG, max(0, at - 6), at)
    return base >= 0 and text.startswith(_TAG_FLAGS, base)


def _is_pictograph(char: str) -> bool:
    # Skin tones are modifier symbols (Sk), arrows are mathematical (Sm).
    return unicodedata.category(char) in {"So", "Sm"} or char in "‼⁉〰" or _is_tone(char)


def _is_tone(char: str) -> bool:
    return "\U0001f3fb" <= char <= "\U0001f3ff"


def _is_virama(char: str) -> bool:
    return unicodedata.combining(char) == 9


def _is_cursive(char: str) -> bool:
    name = unicodedata.name(char, "") if char else ""
    return name.startswith(("ARABIC LETTER", "SYRIAC LETTER", "MANDAIC LETTER", "NKO LETTER"))


def _is_han(char: str) -> bool:
    return unicodedata.name(char, "").startswith(("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH"))


def _is_east_asian(char: str) -> bool:
    return unicodedata.east_asian_width(char) in {"W", "F"}
