"""The peer's half of the microbenchmark; runs in the peer's environment, prints JSON.

<peer's python> benchmarks/peer_micro.py DATA STORE_FILE WARM_UP
"""

import asyncio
import json
import sys
import time
from typing import Any

from memorywire.models import RecallRequest, RememberRequest
from memorywire.store.sqlite_vec import SqliteVecStore

from stores.embedding import open_embedder


async def run(data: dict[str, Any], store_file: str, warm_up: int) -> dict[str, Any]:
    model = open_embedder("minilm")
    store = SqliteVecStore(store_file, embedder=lambda text: model.embed([text])[0].tolist())
    for number in range(warm_up):
        request = RememberRequest(agent_id="warm", type="semantic", content=f"warm up {number}")
        await store.remember(request)
        await store.recall(RecallRequest(agent_id="warm", query=f"warm {number}", k=5))
    ids, remember_ms, recall_ms, found = [], [], [], []
    for fact in data["facts"]:
        request = RememberRequest(agent_id="bench", type="semantic", content=fact)
        began = time.perf_counter()
        answer = await store.remember(request)
        remember_ms.append((time.perf_counter() - began) * 1000)
        ids.append(answer.id)
    for item in data["queries"]:
        query = RecallRequest(agent_id="bench", query=item["query"], k=5)
        began = time.perf_counter()
        answer = await store.recall(query)
        recall_ms.append((time.perf_counter() - began) * 1000)
        found.append([ids.index(hit.id) for hit in answer.results])
    return {"remember_ms": remember_ms, "recall_ms": recall_ms, "found": found}


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        facts_and_queries = json.load(file)
    print(json.dumps(asyncio.run(run(facts_and_queries, sys.argv[2], int(sys.argv[3])))))
