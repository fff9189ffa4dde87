"""The small, fast embedder: wordllama's static word vectors, 256 dimensions, numpy only.

It averages vectors of words and knows nothing of their order: some fifty times faster than MiniLM
and noticeably worse at paraphrases. For small machines and large imports.
"""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from stores.embedding.once import Once
from stores.embedding.packages import package_folder
from stores.embedding.vectors import FloatMatrix, unit_rows

DIMENSIONS = 256


class StaticEmbedder:
    """wordllama's ``l2_supercat`` vectors, averaged over the whole text and scaled to unit length.

    There is no window: the last words of a long text count as much as the first. The model (16 MB)
    is loaded by the first ``embed``, or by ``load``. A text without any token gets the first axis.

    Raises: MissingExtra if wordllama is not installed.
    """

    model_id = "wordllama/l2_supercat/256"
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        folder = package_folder("wordllama", hint="install the extra 'static-embedder'")
        self._model = Once(lambda: _load(folder))

    def load(self) -> None:
        """Loads the model now, so that the first request does not wait for it."""
        self._model.get()

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Returns one unit-length row per text, shape ``(len(texts), 256)``.

        The same text gives the same row, alone or among others. About 0.05 ms for a short text.
        """
        if not texts:
            return np.zeros((0, DIMENSIONS), dtype=np.float32)
        model = self._model.get()
        return unit_rows(np.stack([_sum(model, text) for text in texts]))


def _load(folder: Path) -> Any:
    # Importing wordllama calls logging.basicConfig, which leaves a root logger alone that has a
    # handler: the logs are the application's to configure.
    placeholder = logging.NullHandler()
    logging.root.addHandler(placeholder)
    try:
        from wordllama import WordLlama  # imported late: opening an embedder must stay cheap
    finally:
        logging.root.removeHandler(placeholder)
    return WordLlama.load(cache_dir=folder, disable_download=True)


def _sum(model: Any, text: str) -> npt.NDArray[np.float32]:
    """The sum of the text's token vectors, shape ``(256,)``; zeros for a text without tokens.

    Each distinct token is looked up once: the model's own ``embed`` makes a row per token, which is
    hundreds of megabytes for the longest texts a memory may hold.
    """
    tokens = model.tokenizer.encode(text, add_special_tokens=False).ids
    distinct, counts = np.unique(np.array(tokens, dtype=np.int64), return_counts=True)
    total: npt.NDArray[np.float32] = counts.astype(np.float32) @ model.embedding[distinct]
    return total
