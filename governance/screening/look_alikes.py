"""Letters drawn like letters of another script, inside a word of that script: pure.

Only words in which scripts are mixed are looked at: a whole word of one script may be what it
seems. Which letters are drawn alike says Unicode's list of confusables (UTS 39).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from confusable_homoglyphs import confusables

_LATIN = "A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1e00-\u1eff\ua722-\ua7bf"
_OTHER = (
    "\u0370-\u0373\u0376-\u037d\u037f\u0386-\u03ff\u1f00-\u1fff"  # Greek
    "\u0400-\u052f\u1c80-\u1c8a\ua640-\ua69f"  # Cyrillic
    "\u0531-\u0587"  # Armenian
    "\u13a0-\u13fd\uab70-\uabbf"  # Cherokee
)
#: A run of letters that holds one of the other scripts; plain ASCII words are never looked at.
_word = re.compile(rf"[^\W\d_]*[{_OTHER}][^\W\d_]*")
_latin = re.compile(f"[{_LATIN}]")


def positions(text: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Where letters stand that pass for one of the script most of their word is written in.

    A slice is judged by its whole words, as they stand in the text.
    """
    end = len(text) if end is None else end
    for found in _word.finditer(text, _word_start(text, start)):
        if found.start() >= end:
            return
        for at in _in_word(found.group()):
            if start <= (position := found.start() + at) < end:
                yield position


def looks_like(char: str) -> str:
    """The ASCII letter that a letter is drawn like; empty if none."""
    return next((twin for twin in _twins(char) if twin.isascii() and twin.isalpha()), "")


def _word_start(text: str, start: int) -> int:
    while start and text[start - 1].isalpha():
        start -= 1
    return start


def _in_word(word: str) -> Iterator[int]:
    if len(word) < 2 or not (_latin.search(word) or len(set(map(_script, word))) > 1):
        return
    scripts = Counter(map(_script, word))
    # Of two as frequent, Latin is the one that is passed for: it is what addresses are written in.
    usual = max(scripts, key=lambda script: (scripts[script], script == "LATIN"))
    for at, char in enumerate(word):
        if (script := _script(char)) != usual and _passes_for(char, usual, script):
            yield at


def _passes_for(char: str, usual: str, script: str) -> bool:
    return any(_script(twin) == usual != script for twin in _twins(char))


@lru_cache(maxsize=4096)
def _twins(char: str) -> tuple[str, ...]:
    found = confusables.is_confusable(char, greedy=True)
    twins = (twin["c"] for each in found or () for twin in each["homoglyphs"])
    return tuple(twin for twin in twins if len(twin) == 1)


@lru_cache(maxsize=4096)
def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]
