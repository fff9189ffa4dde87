"""Wall time of remember and recall over real HTTP, one client, defaults.

python -m benchmarks.http_latency
"""

import random
import statistics
import time
from collections.abc import Callable

from benchmarks.local_server import started

REMEMBERED = 300
RECALLED = 300
WARM_UP = 20
_THINGS = ("tea", "coffee", "an aisle seat", "a late check-out", "vegetarian meals", "jazz", "rain")
_PEOPLE = ("Alice", "Bob", "Chen", "Dara", "Eve", "Farid", "Grace")


def main() -> None:
    chance = random.Random(7)
    with started() as server, server.client() as client:

        def remember() -> None:
            content = (
                f"{chance.choice(_PEOPLE)} likes {chance.choice(_THINGS)} {chance.random():.6f}"
            )
            body = {"agent_id": "bench", "type": "semantic", "content": content}
            client.post("/v0/remember", json=body).raise_for_status()

        def recall() -> None:
            query = f"what does {chance.choice(_PEOPLE)} like?"
            answer = client.post("/v0/recall", json={"agent_id": "bench", "query": query})
            assert len(answer.raise_for_status().json()["results"]) == 5

        _measure("remember", remember, REMEMBERED)
        _measure("recall", recall, RECALLED)
        print(f"memories at the end: {REMEMBERED + WARM_UP}")


def _measure(name: str, call: Callable[[], None], times: int) -> None:
    for _ in range(WARM_UP):
        call()
    taken = []
    for _ in range(times):
        started_at = time.perf_counter()
        call()
        taken.append((time.perf_counter() - started_at) * 1000)
    cuts = statistics.quantiles(taken, n=20)
    print(f"{name:10} p50 {statistics.median(taken):6.1f} ms   p95 {cuts[18]:6.1f} ms   n {times}")


if __name__ == "__main__":
    main()
