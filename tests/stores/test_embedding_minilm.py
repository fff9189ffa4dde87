"""The default embedder: windows over long texts, and its distance to the float32 original."""

from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from stores.embedding import MiniLmEmbedder, open_embedder
from stores.embedding import minilm as minilm_module
from stores.embedding.int8 import with_integer_products
from stores.embedding.once import Once
from stores.embedding.vectors import unit_rows
from stores.embedding.windows import spread_windows

FILLER = "The meeting about the quarterly budget was moved to the second floor. "
LAST_WORDS = "Kenji learned to play the cello at sixty."


@pytest.fixture(scope="module")
def minilm() -> MiniLmEmbedder:
    return MiniLmEmbedder()


@pytest.mark.parametrize("sentences", [30, 150, 400])
def test_a_long_text_is_found_by_a_paraphrase_of_its_last_words(
    minilm: MiniLmEmbedder, sentences: int
) -> None:
    with_it, without, query = minilm.embed(
        [FILLER * sentences + LAST_WORDS, FILLER * (sentences + 1), "an old man and his instrument"]
    )

    assert with_it @ query > without @ query


def test_a_long_text_is_still_found_by_its_first_words(minilm: MiniLmEmbedder) -> None:
    with_it, without, query = minilm.embed(
        [LAST_WORDS + FILLER * 60, FILLER * 61, "an old man and his instrument"]
    )

    assert with_it @ query > without @ query


def test_the_longest_content_is_embedded(minilm: MiniLmEmbedder) -> None:
    assert np.isfinite(minilm.embed(["漢" * 100_000])).all()


@given(length=st.integers(0, 5_000), size=st.integers(1, 300), at_most=st.integers(2, 9))
def test_windows_start_and_end_with_the_text(length: int, size: int, at_most: int) -> None:
    tokens = range(length)
    windows = spread_windows(tokens, size=size, at_most=at_most)

    assert 1 <= len(windows) <= at_most
    assert all(len(window) == min(size, length) for window in windows)
    assert list(windows[0]) == list(tokens[:size])
    assert list(windows[-1]) == list(tokens[-size:])
    if length <= size * at_most:
        assert set().union(*windows) == set(tokens)


def test_products_in_int8_are_faithful_to_those_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    judge = minilm_module.faithfulness

    def note(exact: Any, quick: Any) -> float:
        seen.append(judge(exact, quick))
        return seen[-1]

    monkeypatch.setattr(minilm_module, "faithfulness", note)
    MiniLmEmbedder().load()

    assert seen[0] >= 0.985


def test_where_the_processor_spoils_int8_products_float32_takes_over(
    minilm: MiniLmEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minilm_module, "faithfulness", lambda exact, quick: 0.5)
    exact = MiniLmEmbedder()

    cosine = float((exact.embed([FILLER]) @ minilm.embed([FILLER]).T).item())

    assert 0.985 <= cosine < 0.99999


def test_a_model_without_int8_weights_is_not_taken_for_ours(tmp_path: Path) -> None:
    number = helper.make_tensor_value_info("a", TensorProto.FLOAT, [1])
    answer = helper.make_tensor_value_info("b", TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Neg", ["a"], ["b"])], "g", [number], [answer])
    file = tmp_path / "other.onnx"
    file.write_bytes(helper.make_model(graph).SerializeToString())

    with pytest.raises(ValueError, match="no product with int8 weights"):
        with_integer_products(file)


def test_a_row_without_direction_becomes_the_first_axis() -> None:
    rows = unit_rows(np.array([[0, 0], [3, 4]], dtype=np.float32))

    assert rows.tolist() == [[1, 0], pytest.approx([0.6, 0.8])]


def test_a_model_is_loaded_once_however_many_threads_come_first() -> None:
    loads: list[str] = []

    def slow() -> str:
        sleep(0.05)
        loads.append("loaded")
        return "model"

    once = Once(slow)
    with ThreadPoolExecutor(8) as threads:
        models = list(threads.map(lambda _: once.get(), range(8)))

    assert loads == ["loaded"]
    assert models == ["model"] * 8


def test_a_failed_load_is_tried_again() -> None:
    answers = iter([None])

    def flaky() -> str:
        if next(answers, "loaded") is None:
            raise OSError("busy")
        return "loaded"

    once = Once(flaky)
    with pytest.raises(OSError, match="busy"):
        once.get()
    assert once.get() == "loaded"


def test_int8_is_within_two_percent_of_the_float32_model(minilm: MiniLmEmbedder) -> None:
    if find_spec("sentence_transformers") is None:
        pytest.skip("the optional package sentence_transformers is not installed")
    subjects = ["Alice", "The customer in Łódź", "A retired pilot", "Our supplier", "The choir"]
    facts = [
        "is allergic to peanuts",
        "prefers email over phone",
        "reported a billing issue on 2026-05-26",
        "moved to a smaller flat near the harbour because of the rent",
        "never answers before noon",
        "likes jazz",
        "asked for a refund of 49.90 euros",
        "was nervous about the flight",
        "needs a visa for the trip to Chile",
        "sold the car",
    ]
    sentences = [f"{subject} {fact}" for subject in subjects for fact in facts]
    original = open_embedder("sentence-transformers")

    cosines = (minilm.embed(sentences) * original.embed(sentences)).sum(axis=1)

    assert cosines.min() >= 0.98
