"""Text from outside, made safe to look at.

Whatever an agent sent reaches a page through these tags only: escaped, isolated from the
direction of the text around it, every hidden character shown by name.
"""

from collections.abc import Iterator
from typing import Literal

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from governance.diff import Kind, diff_words
from governance.screening import codepoints
from governance.screening.codepoints import Mark, Run

register = template.Library()

_EXCERPT_CHARACTERS = 240


@register.simple_tag
def shown_text(text: str) -> SafeString:
    """A text of any origin as inert HTML, for inside an element with ``dir="auto"``."""
    return _html(codepoints.split(text))


@register.simple_tag
def shown_name(text: str) -> SafeString:
    """A short text inside a sentence of ours, such as an agent's id; spaces at its ends shown."""
    name = text.strip(" ")
    start, _, end = text.partition(name) if name else (text, "", "")
    runs = (*map(_space, start), *codepoints.split(name), *map(_space, end))
    return format_html("<bdi>{}</bdi>", _html(runs))


@register.simple_tag
def shown_excerpt(text: str) -> SafeString:
    """The beginning of a text on one line, hidden characters under their short names."""
    cut = text[:_EXCERPT_CHARACTERS]
    ending = "…" if len(text) > len(cut) else ""
    return format_html("{}{}", _html(codepoints.split(cut), brief=True), ending)


@register.simple_tag
def word_diff(
    before: str, after: str, side: Literal["both", "before", "after"] = "both"
) -> SafeString:
    """What changes between two texts, said in words to those who do not see it.

    One side alone leaves out what only the other has.
    """
    left_out = {"both": None, "before": Kind.ADDED, "after": Kind.REMOVED}[side]
    return _join(html for kind, html in _changes(before, after) if kind is not left_out)


def _changes(before: str, after: str) -> Iterator[tuple[Kind, SafeString]]:
    # Slices of the whole texts, so that what stands beside a character is known at a seam too.
    at_before = at_after = 0
    for segment in diff_words(before, after):
        size = len(segment.text)
        if segment.kind is Kind.REMOVED:
            runs = codepoints.split(before, start=at_before, end=at_before + size)
            yield segment.kind, _change("del", "removed", runs)
        else:
            runs = codepoints.split(after, start=at_after, end=at_after + size)
            is_same = segment.kind is Kind.SAME
            yield segment.kind, _html(runs) if is_same else _change("ins", "added", runs)
        at_before += size if segment.kind is not Kind.ADDED else 0
        at_after += size if segment.kind is not Kind.REMOVED else 0


def _change(element: str, word: str, runs: tuple[Run, ...]) -> SafeString:
    return format_html(
        '<{0}><span class="vh">{1}: </span>{2}<span class="vh"> end {1}</span></{0}>',
        element,
        word,
        _html(runs),
    )


def _html(runs: tuple[Run, ...], *, brief: bool = False) -> SafeString:
    return _join(_mark(run, brief) if isinstance(run, Mark) else run for run in runs)


def _space(space: str) -> Mark:
    return Mark(space, "SP", "U+0020 SP")


def _mark(mark: Mark, brief: bool) -> SafeString:
    label = mark.short if brief else mark.label
    what = "hidden" if mark.is_hidden else "look-alike"
    return format_html('<span class="cp"><span class="vh">{}: </span>{}</span>', what, label)


def _join(parts: Iterator[str | SafeString]) -> SafeString:
    return format_html_join(mark_safe(""), "{}", ((part,) for part in parts))
