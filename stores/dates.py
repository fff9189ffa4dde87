"""Dates in a text, so that a query about a day finds what was said about it. Pure.

Read are ISO dates (``2023-05-07``, ``2023-05``) and English ones with a year: ``7 May 2023``,
``7th of May, 2023``, ``May 7, 2023``, ``May 7th 2023``, ``Sept. 2023``. Nothing is guessed:
``5/7/2023`` is two days, depending on where one lives, and "yesterday" depends on when it was said.
"""

import re
from collections.abc import Iterator
from datetime import date
from typing import Final

#: More dates than this in one text say nothing about it.
DATES_MAX: Final = 64

_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_NUMBERS: Final = {
    name: number
    for number, month in enumerate(_MONTHS, start=1)
    for name in (month, month[:3], *(["sept"] if month == "september" else []))
}
_MONTH: Final = rf"(?P<month>{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})\b\.?"
_YEAR: Final = r"(?P<year>[12]\d{3})\b"
_DAY: Final = r"\b(?P<day>\d{1,2})(?:st|nd|rd|th)?"
# No pattern repeats what is unbounded, so a long text costs its length.
_PATTERNS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<![\d-])(?P<year>[12]\d{3})-(?P<month>\d{2})(?:-(?P<day>\d{2}))?(?![\d-])",
        rf"{_DAY}\s{{1,2}}(?:of\s)?{_MONTH},?\s{{1,2}}{_YEAR}",
        rf"\b{_MONTH},?\s{{1,2}}(?:{_DAY},?\s{{1,2}})?{_YEAR}",
    )
)


def date_words(text: str) -> list[str]:
    """A word per day and per month that a text names, each once: the same however it is written.

    A day has its month's word too, so that asking for a month finds its days.
    """
    words: dict[str, None] = {}
    for year, month, day in _dates(text):
        words[f"month{year:04}{month:02}"] = None
        if day is not None:
            words[f"day{year:04}{month:02}{day:02}"] = None
        if len(words) >= DATES_MAX:
            break
    return list(words)


def asked_date_words(query: str) -> list[str]:
    """The words to look for: of a day its own, of a month the month's."""
    words = [
        f"month{year:04}{month:02}" if day is None else f"day{year:04}{month:02}{day:02}"
        for year, month, day in _dates(query)
    ]
    return list(dict.fromkeys(words))[:DATES_MAX]


def _dates(text: str) -> Iterator[tuple[int, int, int | None]]:
    """Year, month and day (None for a whole month) of every date that exists."""
    ends = set[int]()
    for pattern in _PATTERNS:
        for found in pattern.finditer(text):
            if found.end() in ends:
                continue  # the month and year of a day that was read already
            name = found["month"].lower()
            year = int(found["year"])
            month = int(name) if name.isdigit() else _NUMBERS[name]
            day = None if found["day"] is None else int(found["day"])
            try:
                date(year, month, day or 1)
            except ValueError:
                continue
            ends.add(found.end())
            yield year, month, day
