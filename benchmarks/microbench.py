"""The paper's microbenchmark shape, beside the peer in the same run: 100 facts, 50 queries.

    python -m benchmarks.microbench

Ours over real HTTP with one client; the peer in process with its store on disk, on the same
machine, with the same MiniLM. The facts and queries are our own: 17 paraphrases, 15 exact, 10 with
several right answers, 8 with none. Each side runs twice, in turn, and its better run counts, since
neighbours on a shared machine only ever slow a run down.
"""

import json
import os
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import peer
from benchmarks.local_server import ROOT, started

DATA = Path(__file__).parent / "data" / "microbench.json"
WARM_UP = 20
ROUNDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Times in milliseconds, and the recall@5 over the queries that have an answer."""

    recall_at_5: float
    remember_p50: float
    remember_p95: float
    recall_p50: float
    recall_p95: float


def main() -> None:
    data = json.loads(DATA.read_text())
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(_figures(data, _ours(data)))
        theirs.append(_figures(data, _peers()))
    print_beside(_better(ours), _better(theirs))


def print_beside(ours: Figures, theirs: Figures) -> None:
    print(f"{'':12}{'this server':>14}{f'memorywire {peer.VERSION}':>20}{'ratio':>8}")
    for name in ("recall_at_5", "remember_p50", "remember_p95", "recall_p50", "recall_p95"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        unit = "" if name == "recall_at_5" else " ms"
        digits = 3 if name == "recall_at_5" else 1
        left, right = (f"{value:.{digits}f}{unit}" for value in (mine, other))
        print(f"{name:12}{left:>14}{right:>20}{mine / other:>8.2f}")


def _ours(data: dict[str, Any]) -> dict[str, Any]:
    with started() as server, server.client() as client:

        def call(operation: str, **body: Any) -> tuple[float, dict[str, Any]]:
            began = time.perf_counter()
            answer = client.post(f"/v0/{operation}", json=body)
            taken = (time.perf_counter() - began) * 1000
            return taken, dict(answer.raise_for_status().json())

        for number in range(WARM_UP):
            call("remember", agent_id="warm", type="semantic", content=f"warm up {number}")
            call("recall", agent_id="warm", query=f"warm {number}", k=5)
        stored = [
            call("remember", agent_id="bench", type="semantic", content=fact)
            for fact in data["facts"]
        ]
        asked = [
            call("recall", agent_id="bench", query=item["query"], k=5) for item in data["queries"]
        ]
    ids = [answer["id"] for _, answer in stored]
    return {
        "remember_ms": [taken for taken, _ in stored],
        "recall_ms": [taken for taken, _ in asked],
        "found": [[ids.index(hit["id"]) for hit in answer["results"]] for _, answer in asked],
    }


def _peers() -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="memorywire-peer-") as folder:
        done = subprocess.run(
            [
                peer.python(),
                str(ROOT / "benchmarks" / "peer_micro.py"),
                str(DATA),
                str(Path(folder) / "peer.db"),
                str(WARM_UP),
            ],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _figures(data: dict[str, Any], run: dict[str, Any]) -> Figures:
    labelled = [
        (set(item["gold"]), set(found))
        for item, found in zip(data["queries"], run["found"], strict=True)
        if item["gold"]
    ]
    remember, recall = run["remember_ms"], run["recall_ms"]
    return Figures(
        recall_at_5=statistics.mean(len(gold & found) / len(gold) for gold, found in labelled),
        remember_p50=statistics.median(remember),
        remember_p95=statistics.quantiles(remember, n=20)[18],
        recall_p50=statistics.median(recall),
        recall_p95=statistics.quantiles(recall, n=20)[18],
    )


def _better(runs: list[Figures]) -> Figures:
    return min(runs, key=lambda figures: figures.remember_p50 + figures.recall_p50)


if __name__ == "__main__":
    main()
