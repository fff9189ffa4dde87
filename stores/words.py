"""Words of texts and of queries, found the same way for every store's text leg.

Scripts that are written without spaces (Han, kana, Hangul, Thai, Lao, Khmer, Burmese) are cut into
overlapping pairs of characters, so that a word inside a sentence is found without a dictionary.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from stores.dates import asked_date_words, date_words

#: More terms cost time and find nothing that the longest ones do not.
QUERY_TERMS_MAX: Final = 32

_UNSPACED: Final = re.compile(
    "(["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u1100-\u11ff\uac00-\ud7af"  # Hangul
    "\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff"  # kana, bopomofo, iteration marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "]+)"
)

STOP_WORDS: Final = frozenset(
    """
    a about after again all also am an and any are as at be because been before being but by can
    could did do does doing don for from had has have having he her here hers him his how i if in
    into is it its just ll me more most my no nor not of on or other our ours out over own re s she
    should so some such t than that the their theirs them then there these they this those through
    to too under until up us ve very was we were what when where which while who whom whose why
    will with would you your yours
    """.split()
)


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for. A prefix also finds longer words that begin with it."""

    text: str
    is_prefix: bool = False


def index_text(text: str) -> str:
    """The text's words, separated by spaces: what a text index should hold instead of the text.

    Every date it names is one more word, the same however it is written.
    """
    return " ".join([*_indexed_words(text), *date_words(text)])


def whole_words(text: str) -> Iterator[str]:
    """What an index should hold that cannot look for beginnings and knows no accents.

    The plain words of ``index_text`` and each character of a script without spaces: every term of a
    query, made plain, is one of them or is not in the text.
    """
    for run, is_unspaced in _runs(text):
        if is_unspaced:
            yield from _pairs(run)
            yield from run
        else:
            yield plain(run)
    yield from date_words(text)


def plain(word: str) -> str:
    """Without the accents of Latin letters; those of other scripts make other letters."""
    if word.isascii():
        return word
    kept: list[str] = []
    is_latin = False
    for character in unicodedata.normalize("NFD", word):
        if not unicodedata.combining(character):
            is_latin = unicodedata.name(character, "").startswith("LATIN ")
        elif is_latin:
            continue
        kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept))


def query_terms(query: str) -> list[Term]:
    """What to look for, any of it: distinct, without stop words, at most ``QUERY_TERMS_MAX``.

    Punctuation never has a meaning. If there are stop words only, they are used after all. Of too
    many terms the longest stay, as they select best.
    """
    terms = list(dict.fromkeys([*_terms(query), *map(Term, asked_date_words(query))]))
    telling = [term for term in terms if term.text not in STOP_WORDS] or terms
    if len(telling) <= QUERY_TERMS_MAX:
        return telling
    return sorted(telling, key=lambda term: len(term.text), reverse=True)[:QUERY_TERMS_MAX]


def _indexed_words(text: str) -> Iterator[str]:
    for run, is_unspaced in _runs(text):
        if is_unspaced:
            yield from _pairs(run)
            # The last character begins no pair; alone it can still be found by its prefix.
            yield run[-1]
        else:
            yield run


def _terms(query: str) -> Iterator[Term]:
    for run, is_unspaced in _runs(query):
        if not is_unspaced:
            yield Term(run)
        elif len(run) == 1:
            yield Term(run, is_prefix=True)
        else:
            yield from map(Term, _pairs(run))


def _pairs(run: str) -> Sequence[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _runs(text: str) -> Iterator[tuple[str, bool]]:
    """Runs of word characters, each with whether its script is written without spaces."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    for word in folded.translate(_SEPARATORS_TO_SPACES).split():
        # The pattern has one group, so every second piece is a match of it.
        for index, piece in enumerate(_UNSPACED.split(word)):
            if piece:
                yield piece, index % 2 == 1


class _SeparatorsToSpaces(dict[int, int]):
    """A translation table that looks a character's category up when it first meets it."""

    def __missing__(self, code: int) -> int:
        is_word = unicodedata.category(chr(code))[0] in "LMN"
        self[code] = code if is_word else ord(" ")
        return self[code]


_SEPARATORS_TO_SPACES: Final = _SeparatorsToSpaces()
