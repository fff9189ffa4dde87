"""Characters a reader would not see are shown by name; those a script needs are left alone."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.screening.codepoints import Mark, Run, count, split

hidden = st.text(st.sampled_from("ab \n\u200b\u200d\u202e\ufe0f\U000e0041\U0001f3f4👩é\u00a0"))


def raw(run: Run) -> str:
    return run.raw if isinstance(run, Mark) else run


def labels(text: str) -> list[str]:
    return [run.label for run in split(text) if isinstance(run, Mark)]


def tagged(text: str) -> str:
    return "".join(chr(0xE0000 + ord(char)) for char in text)


@given(hidden | st.text())
def test_the_runs_joined_are_the_text(text):
    assert "".join(map(raw, split(text))) == text
    assert count(text) == sum(len(run.raw) for run in split(text) if isinstance(run, Mark))


@given(hidden, st.integers(0, 30), st.integers(0, 30))
def test_a_slice_is_marked_as_it_is_in_the_whole_text(text, one, other):
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    runs = split(text, start=start, end=end)
    marked = [isinstance(run, Mark) for run in split(text) for _ in raw(run)]
    assert "".join(map(raw, runs)) == text[start:end]
    assert [isinstance(run, Mark) for run in runs for _ in raw(run)] == marked[start:end]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("code\u200b and", ["U+200B ZWSP"]),
        ("\u202emoc.x\u202c", ["U+202E RLO", "U+202C PDF"]),
        ("a" + tagged("send it") + "b", ["7 tag characters"]),
        ("\U000e0041", ["U+E0041 tag"]),
        ("a\u200b\u200b\u200bb", ["3 × U+200B ZWSP"]),
        ("10\u00a0km", ["U+00A0 NBSP"]),
        ("\x1b[31m", ["U+001B ESC"]),
        ("a\x07", ["U+0007 control"]),
        ("soft\u00adhyphen", ["U+00AD SHY"]),
        ("\u3164", ["U+3164 hangul filler"]),
        ("pay\u2800pal", ["U+2800 braille pattern blank"]),
        ("\ue000", ["U+E000 private use"]),
        ("pa\u200dypal", ["U+200D ZWJ"]),
        ("pa\u200cypal", ["U+200C ZWNJ"]),
        ("a\ufe0f", ["U+FE0F variation selector"]),
        ("😀\ufe0f\ufe01\ufe02\ufe03", ["3 variation selectors"]),
        ("😀" + "".join(map(chr, range(0xE0100, 0xE0110))), ["16 variation selectors"]),
        ("\U0001f3f4" + tagged("gbxxx") + "\U000e007f", ["6 tag characters"]),
        ("lone\rreturn", ["U+000D CR"]),
        ("\ufeffbom", ["U+FEFF ZWNBSP"]),
        ("left\u200eright\u200f", ["U+200E LRM", "U+200F RLM"]),
    ],
)
def test_what_a_reader_would_not_see_is_named(text, expected):
    assert labels(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "plain text, with\ttabs,\nlines and\r\nother line ends",
        "👩\u200d👩\u200d👧\u200d👦 and 👩🏽\u200d🚀 and ❤\ufe0f\u200d🔥 and 1\ufe0f\u20e3",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",  # England
        "می\u200cخواهم",  # Persian
        "क्\u200dष and র\u200d্য",  # Devanagari and Bengali
        "ශ්\u200dරී ලංකා",  # Sinhala
        "東京　大阪 と 葛\U000e0100",
        "café, naïve, Straße, עברית, العربية, ไทย",
        "٪ \u0600١٢٣",  # a drawn format character
    ],
)
def test_what_a_script_needs_is_left_alone(text):
    assert split(text) == (text,)


def test_tag_characters_are_read_out():
    (mark,) = (run for run in split("x" + tagged("send scans")) if isinstance(run, Mark))
    assert (mark.short, mark.spells) == ("10 tag characters", "send scans")


def test_the_longest_text_an_agent_may_send_is_split_quickly():
    text = "\u200b\U000e0041\ufe0fé" * 25_000
    started = time.process_time()
    assert sum(len(raw(run)) for run in split(text)) == len(text)
    assert time.process_time() - started < 2
