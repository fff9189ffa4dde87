"""The process's embedder: text to vector, off the event loop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

from django.conf import settings

from stores.embedding import open_embedder
from stores.protocol import Embedder, Vector

# One model call at a time: two onnxruntime threads are slower than one.
_pool = ThreadPoolExecutor(1, thread_name_prefix="embed")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedText:
    """A text's vector and the model that made it."""

    model_id: str
    vector: Vector


@cache
def embedder() -> Embedder:
    """The configured embedder, loaded on first use."""
    return open_embedder(settings.EMBEDDER)


async def embed(text: str) -> EmbeddedText:
    """The vector of one text; the only model call of a write or a recall."""
    return await asyncio.wrap_future(_pool.submit(_embed, text))


def _embed(text: str) -> EmbeddedText:
    model = embedder()
    return EmbeddedText(model_id=model.model_id, vector=model.embed([text])[0])
