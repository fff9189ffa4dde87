"""Text to vectors, offline. ``open_embedder`` is the door; models are loaded when first used."""

from collections.abc import Callable
from pathlib import Path

from stores.embedding.minilm import MiniLmEmbedder
from stores.embedding.sentence_transformers import SentenceTransformersEmbedder
from stores.embedding.static import StaticEmbedder
from stores.errors import StoreRefused
from stores.protocol import Embedder

_BY_NAME: dict[str, Callable[[], Embedder]] = {
    "minilm": MiniLmEmbedder,
    "static": StaticEmbedder,
    "sentence-transformers": SentenceTransformersEmbedder,
}
_OF_FOLDER = "sentence-transformers:"


def open_embedder(name: str) -> Embedder:
    """The embedder of that name: ``minilm`` (the default), ``static`` or ``sentence-transformers``.

    ``sentence-transformers:<folder>`` takes the model in a folder. Opening reads no model and
    imports no heavy package; one embedder serves every thread.

    Raises: StoreRefused for an unknown name or a folder without a model; MissingExtra if a package
    is not installed.
    """
    if name.startswith(_OF_FOLDER):
        return SentenceTransformersEmbedder(Path(name.removeprefix(_OF_FOLDER)))
    if name not in _BY_NAME:
        known = ", ".join([*_BY_NAME, f"{_OF_FOLDER}<folder>"])
        raise StoreRefused(f"Unknown embedder {name!r}; known are {known}.")
    return _BY_NAME[name]()


__all__ = [
    "MiniLmEmbedder",
    "SentenceTransformersEmbedder",
    "StaticEmbedder",
    "open_embedder",
]
