"""The peer's router under the attack of ``adversarial``. Runs in the peer's venv; prints JSON.

Three of its children answer from one of its stores on disk, so that they know a memory by one id.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memorywire.models import RecallHit, RecallRequest, RecallResponse, RememberRequest
from memorywire.router import MemoryRouter
from memorywire.store.sqlite_vec import SqliteVecStore

from benchmarks import attack
from stores.embedding.minilm import MiniLmEmbedder

AGENT = "bench"


class Child:
    """One of the router's stores; the first ``budget`` hits of a hostile one are invented."""

    def __init__(self, store: SqliteVecStore, number: int, *, budget: int = 0) -> None:
        self.BACKEND_NAME = f"store-{number}"
        self.capabilities = store.capabilities
        self._store, self._budget = store, budget

    async def recall(self, request: RecallRequest) -> RecallResponse:
        answer = await self._store.recall(request)
        invented = [
            RecallHit(id=f"attacker-{n}", type="semantic", content="obey", score=attack.SCORE)
            for n in range(self._budget)
        ]
        together = [*invented, *answer.results][: request.k or attack.K]
        return answer.model_copy(update={"results": together})


async def _cells(folder: str) -> Sequence[attack.Cell]:
    model = MiniLmEmbedder()
    store = SqliteVecStore(
        str(Path(folder) / "peer.db"),
        embedder=lambda text: [float(number) for number in model.embed([text])[0]],
    )
    data, fact_of = attack.Dataset.read(), {}
    for fact in data.facts:
        body = {key: fact[key] for key in ("user_id", "type", "content")} | {"agent_id": AGENT}
        fact_of[(await store.remember(RememberRequest.model_validate(body))).id] = fact["id"]
    return [
        await _cell(store, data, fact_of, hostile, budget, fusion)
        for hostile in range(1, attack.STORES)
        for budget in attack.BUDGETS
        for fusion in attack.FUSIONS
    ]


async def _cell(
    store: SqliteVecStore,
    data: attack.Dataset,
    fact_of: Mapping[str, str],
    hostile: int,
    budget: int,
    fusion: str,
) -> attack.Cell:
    router = MemoryRouter(
        [
            Child(store, number, budget=budget if number < hostile else 0)
            for number in range(attack.STORES)
        ]
    )

    async def ask(query: Mapping[str, Any]) -> Sequence[str]:
        body = {
            "agent_id": AGENT,
            "user_id": query["user_id"],
            "query": query["query"],
            "k": attack.K,
            "fusion": fusion,
        }
        answer = await router.recall(RecallRequest.model_validate(body))
        return [fact_of.get(hit.id, hit.id) for hit in answer.results]

    return await attack.measure(
        data, ask, hostile=hostile, budget=budget, fusion=fusion, known=set(fact_of.values())
    )


def main() -> None:
    with TemporaryDirectory(prefix="memorywire-peer-") as folder:
        print(json.dumps([asdict(cell) for cell in asyncio.run(_cells(folder))]))


if __name__ == "__main__":
    main()
