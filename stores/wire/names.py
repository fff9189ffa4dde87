"""Names of agents and users: no two that look the same to a person and differ to a machine.

Names are compared whole, character for character, so look-alikes never share data. Refusing them
keeps a person who reads "billing-bot" from deciding about "bіlling-bot". What remains is one script
imitating a whole word of another, which no rule about characters can tell from the real word.
"""

import re
import unicodedata
from collections.abc import Iterator

#: Scripts whose letters are drawn alike. Words of each may stand beside words of another.
_ALIKE = ("LATIN", "GREEK", "CYRILLIC")
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_word = re.compile(r"[^\W\d_]+")


def fault(name: str) -> str | None:
    """What makes a name pass for another, in words for whoever sent it; None if nothing does."""
    if unseen := next((char for char in name if _is_unseen(char)), None):
        return f"must not contain characters that cannot be seen, such as {_point(unseen)}"
    if (normal := unicodedata.normalize("NFKC", name)) != name:
        odd = next(
            (char for char, usual in zip(name, normal, strict=False) if char != usual), name[-1]
        )
        return f"must be in Unicode's normal form NFKC, which {_point(odd)} is not part of"
    for word in _word.findall(name):
        if len(scripts := set(_scripts(word))) > 1:
            mixed = " and ".join(script.title() for script in _ALIKE if script in scripts)
            return f"must not mix {mixed} letters in one word"
    return None


def _is_unseen(char: str) -> bool:
    return unicodedata.category(char) in _UNSEEN


def _scripts(word: str) -> Iterator[str]:
    for char in word:
        script = unicodedata.name(char, "").partition(" ")[0]
        if script in _ALIKE:
            yield script


def _point(char: str) -> str:
    return f"U+{ord(char):04X}"
