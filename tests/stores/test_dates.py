"""Dates: found however they are written, and never guessed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.dates import DATES_MAX, asked_date_words, date_words
from stores.words import index_text, query_terms

MAY_7 = ["month202305", "day20230507"]


@pytest.mark.parametrize(
    "text",
    [
        "2023-05-07",
        "on 2023-05-07T10:00",
        "7 May 2023",
        "[7 May 2023] Ann: hello",
        "07 may, 2023",
        "the 7th of May, 2023",
        "May 7, 2023",
        "May 7th 2023",
        "MAY  7, 2023.",
    ],
)
def test_one_day_is_one_word_however_it_is_written(text: str):
    assert date_words(text) == MAY_7
    assert asked_date_words(text) == MAY_7[1:]


@pytest.mark.parametrize("text", ["May 2023", "in may, 2023", "2023-05", "32 May 2023"])
def test_a_month_is_found_by_its_days_and_asked_for_by_itself(text: str):
    assert date_words(text) == MAY_7[:1]
    assert asked_date_words(text) == MAY_7[:1]


@pytest.mark.parametrize("text", ["Sept. 2023", "Sep 2023", "september 2023"])
def test_short_names_of_months_are_months(text: str):
    assert asked_date_words(text) == ["month202309"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "5/7/2023",
        "2023-13-01",
        "May I ask 2023 people",
        "12023-05-07",
        "1-2023-05",
        "maybe 2023",
        "7 May",
        "call 555-2023-05",
    ],
)
def test_what_is_no_certain_date_is_none(text: str):
    assert date_words(text) == []


def test_a_query_finds_a_text_that_writes_the_date_otherwise():
    indexed = index_text("[7 May 2023] Ann: I went hiking").split()
    for query in ("what about 2023-05-07", "May 7th, 2023", "in May 2023"):
        assert {term.text for term in query_terms(query)} & set(indexed) >= set(
            asked_date_words(query)
        )


def test_a_text_full_of_dates_keeps_a_bounded_number():
    text = " ".join(f"2{year:03}-01-01" for year in range(1_000))
    assert len(date_words(text)) <= DATES_MAX + 1


@given(st.text(alphabet="12305-7 Mayth,of", max_size=60))
def test_any_text_can_be_read(text: str):
    assert set(asked_date_words(text)) <= set(date_words(text))


def test_a_long_text_costs_its_length():
    assert date_words("1 " * 50_000 + "may " * 50_000) == []
