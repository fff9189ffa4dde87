"""Agents' texts are inert in every template tag that shows them."""

from html.parser import HTMLParser

import pytest
from django.template import Context, Template
from hypothesis import given
from hypothesis import strategies as st

from governance.templatetags.memorywire_text import (
    shown_excerpt,
    shown_name,
    shown_text,
    word_diff,
)

PAYLOADS = [
    "<img src=x onerror=alert(1)>",
    "</script><svg onload=alert(1)>",
    "javascript:alert(1)",
    "{{7*7}} {% include 'base.html' %}",
    "[x](javascript:1)",
    '" hx-get="/api" autofocus onfocus="alert(1)',
    "<a hx-get='/api' hx-trigger='load'>x</a>",
    "\u202e<script>\u200balert(1)</script>",
]
OURS = {"ins", "del", "bdi", "span"}


class Page(HTMLParser):
    """What a browser would make of it: the elements, their attributes and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= set(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def assert_inert(html: str) -> None:
    page = Page(html)
    assert page.elements <= OURS
    assert page.attributes <= {("class", "cp"), ("class", "vh")}


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_payload_becomes_text_in_every_tag(payload):
    for html in (
        shown_text(payload),
        shown_name(payload),
        shown_excerpt(payload),
        word_diff(payload, "harmless"),
        word_diff("harmless", payload),
        word_diff(payload, payload + " <b>more</b>"),
    ):
        assert_inert(html)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_payload_stays_text_through_a_template(payload):
    template = Template(
        "{% load memorywire_text %}{% shown_text text %}{% word_diff 'a' text as diff %}{{ diff }}"
    )
    html = template.render(Context({"text": payload}))
    assert_inert(html)
    assert "49" not in html


@given(st.text(), st.text())
def test_no_text_at_all_makes_an_element_of_its_own(before, after):
    for html in (shown_text(before), shown_excerpt(before), word_diff(before, after)):
        assert_inert(html)


def test_hidden_characters_are_shown_by_name_and_announced():
    assert shown_text("code\u200b") == (
        'code<span class="cp"><span class="vh">hidden: </span>U+200B ZWSP</span>'
    )
    assert "U+" not in shown_excerpt("code\u200b")
    assert "\u200b" not in shown_text("a\u200b") + word_diff("a\u200b", "\u200bb")


def test_changes_are_said_in_words():
    assert word_diff("a nut", "a pea") == (
        'a <del><span class="vh">removed: </span>nut<span class="vh"> end removed</span></del>'
        '<ins><span class="vh">added: </span>pea<span class="vh"> end added</span></ins>'
    )


def test_one_side_of_a_change_leaves_the_other_out():
    assert "<del>" not in word_diff("a nut", "a pea", "after")
    assert "<ins>" not in word_diff("a nut", "a pea", "before")


def test_an_excerpt_is_short_and_says_that_it_was_cut():
    html = shown_excerpt("word " * 1_000)
    assert len(html) < 300
    assert html.endswith("…")
