"""Words: what a text index holds and what a query looks for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.words import (
    QUERY_TERMS_MAX,
    STOP_WORDS,
    Term,
    index_text,
    plain,
    query_terms,
    whole_words,
)


def looked_for(query: str) -> list[str]:
    return [term.text for term in query_terms(query)]


def test_words_are_folded_and_separated_by_anything_else():
    assert index_text("Zoë's CAFÉ—ｆｕｌｌ width!") == "zoë s café full width"


def test_scripts_without_spaces_are_cut_into_pairs():
    assert index_text("東京タワー") == "東京 京タ タワ ワー ー"
    assert index_text("重跑build-77后") == "重跑 跑 build 77 后"


def test_a_word_inside_a_sentence_is_all_there():
    indexed = set(index_text("会議は東京タワーの近くで行う").split())
    assert set(looked_for("東京タワー")) <= indexed


def test_one_unspaced_character_is_looked_for_as_a_beginning():
    assert query_terms("水") == [Term("水", is_prefix=True)]


def test_marks_belong_to_their_word():
    assert index_text("हिन्दी") == "हिन्दी"


def test_stop_words_are_dropped_from_queries_only():
    assert looked_for("what is the capital of France?") == ["capital", "france"]
    assert index_text("what is the") == "what is the"


def test_a_query_of_stop_words_alone_still_looks_for_them():
    assert looked_for("to be or not to be") == ["to", "be", "or", "not"]


def test_a_query_without_words_looks_for_nothing():
    assert query_terms('"* ( ^ ') == []


def test_of_too_many_terms_the_longest_stay():
    query = " ".join(["tiny", *(f"longword{number}" for number in range(QUERY_TERMS_MAX))])
    assert len(query_terms(query)) == QUERY_TERMS_MAX
    assert "tiny" not in looked_for(query)


@given(st.text())
def test_terms_hold_no_syntax(text: str):
    for term in query_terms(text):
        assert term.text
        assert not set(term.text) & set("\"*()^:+-. \n\t'")


@given(st.text(), st.text())
def test_every_term_of_a_text_is_found_in_any_text_around_it(text: str, other: str):
    words = index_text(f"{other} {text}").split()
    for term in query_terms(text):
        assert any(
            word.startswith(term.text) if term.is_prefix else word == term.text for word in words
        )


@given(st.text(), st.text())
def test_every_term_is_a_whole_word_where_beginnings_cannot_be_looked_for(text: str, other: str):
    looked_up = {plain(term.text) for term in query_terms(text)}
    assert looked_up <= set(whole_words(f"{other} {text}"))


def test_plain_words_lose_the_accents_of_latin_letters_only():
    assert list(whole_words("Zoë's naïve Ωμέγα й हिन्दी")) == [
        "zoe",
        "s",
        "naive",
        "ωμέγα",
        "й",
        "हिन्दी",
    ]


@pytest.mark.parametrize("word", sorted(STOP_WORDS))
def test_a_stop_word_is_one_indexed_word(word: str):
    assert index_text(word) == word
