"""The peer in process: one store on disk, driven by JSON lines. Runs in the peer's venv.

Reads ``{"call": "open", "path": ...}``, then ``{"call": "remember" | "recall", "body": ...}``, and
answers each with a line ``{"ms": ..., "answer": ...}``. What is timed is the call alone, from a
plain mapping to a plain mapping, without this pipe. Its store is called directly, without the
router above it, which would only add time.
"""

import asyncio
import json
import sys
import time
from typing import Any

from memorywire.models import RecallRequest, RememberRequest
from memorywire.store.sqlite_vec import SqliteVecStore

from stores.embedding.minilm import MiniLmEmbedder

_MODEL = MiniLmEmbedder()


def _embed(text: str) -> list[float]:
    return [float(number) for number in _MODEL.embed([text])[0]]


async def _call(store: SqliteVecStore, name: str, body: dict[str, Any]) -> dict[str, Any]:
    if name == "remember":
        written = await store.remember(RememberRequest.model_validate(body))
        return written.model_dump(mode="json")
    found = await store.recall(RecallRequest.model_validate(body))
    return found.model_dump(mode="json")


async def _serve() -> None:
    _MODEL.load()
    store: SqliteVecStore | None = None
    for line in sys.stdin:
        order = json.loads(line)
        started_at = time.perf_counter()
        answer: dict[str, Any] = {}
        if order["call"] == "open":
            store = SqliteVecStore(order["path"], embedder=_embed)
        else:
            assert store is not None
            answer = await _call(store, order["call"], order["body"])
        ms = (time.perf_counter() - started_at) * 1000
        print(json.dumps({"ms": ms, "answer": answer}), flush=True)


if __name__ == "__main__":
    asyncio.run(_serve())
