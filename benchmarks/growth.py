"""How latency grows with one agent's memories: recall and remember at 1k, 10k, 50k.

    python -m benchmarks.growth [--full]

Memories are sentences put together from lists of words, made the same way every time; they are
seeded over HTTP by several connections and measured over one. ``--full`` goes on to 50,000.
"""

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import httpx

from benchmarks.local_server import LocalServer, started

SIZES: Final = (1_000, 10_000)
FULL_SIZES: Final = (*SIZES, 50_000)
_CALLS: Final = 60
_WARM_UP: Final = 10
_CONNECTIONS: Final = 4
_SETTLE_SECONDS: Final = 3.0
_AGENT: Final = "growth"

_WORDS: Final = {
    "person": "Ada Boris Chidi Dunya Emeka Freya Gita Hamid Ilse Jonas Kofi Lucia",
    "did": "bought repaired sold praised lost found borrowed painted shipped ordered",
    "kind": "red wooden silver old foldable waterproof antique striped tiny broken",
    "thing": "lantern kettle bicycle tent violin ladder camera suitcase clock carpet mirror"
    " telescope umbrella radio teapot compass hammock printer drum sledge",
    "place": "Oslo Porto Accra Lima Kyoto Galway Tbilisi Quito Bergen Hobart Tunis Riga Cusco",
}
_SENTENCE: Final = "{person} {did} a {kind} {thing} in {place} for {price} euros"
_QUESTION: Final = "what did {person} do with the {thing} in {place}?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Latencies at one size, in milliseconds, and how fast it was reached."""

    memories: int
    seeded_per_second: float
    remember_ms: list[float]
    recall_ms: list[float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--full", action="store_true", help="go on to 50,000 memories")
    options = parser.parse_args()
    print(
        f"{'memories':>9}{'recall p50':>13}{'p95':>9}{'remember p50':>15}{'p95':>9}{'seeding':>12}"
    )
    with started() as server:
        for measured in run(server, FULL_SIZES if options.full else SIZES):
            print(line(measured), flush=True)


def run(server: LocalServer, sizes: tuple[int, ...]) -> Iterator[Measured]:
    """Fill one agent up to each size in turn and measure there."""
    chance = random.Random(11)
    held = 0
    with server.client() as client:
        for size in sizes:
            per_second = _seed(client, [sentence(chance) for _ in range(size - held)])
            time.sleep(_SETTLE_SECONDS)
            yield Measured(
                memories=size,
                seeded_per_second=per_second,
                recall_ms=_timed(lambda: _recall(client, question(chance))),
                remember_ms=_timed(lambda: _remember(client, sentence(chance))),
            )
            held = size + _CALLS + _WARM_UP


def sentence(chance: random.Random) -> str:
    """One of some 300 million memories."""
    return _filled(_SENTENCE, chance)


def question(chance: random.Random) -> str:
    """A question that a few of the memories answer, at the larger sizes."""
    return _filled(_QUESTION, chance)


def _filled(form: str, chance: random.Random) -> str:
    words = {slot: chance.choice(words.split()) for slot, words in _WORDS.items()}
    return form.format(price=chance.randrange(5, 1_000), **words)


def line(measured: Measured) -> str:
    recall, remember = measured.recall_ms, measured.remember_ms
    return (
        f"{measured.memories:9,}{statistics.median(recall):10.1f} ms{_p95(recall):6.0f} ms"
        f"{statistics.median(remember):12.1f} ms{_p95(remember):6.0f} ms"
        f"{measured.seeded_per_second:10.0f}/s"
    )


def _seed(client: httpx.Client, contents: list[str]) -> float:
    """Remember everything over several connections; how many a second."""
    started_at = time.perf_counter()
    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        for _ in pool.map(lambda content: _remember(client, content), contents):
            pass
    return len(contents) / (time.perf_counter() - started_at)


def _remember(client: httpx.Client, content: str) -> None:
    body = {"agent_id": _AGENT, "type": "semantic", "content": content}
    client.post("/v0/remember", json=body).raise_for_status()


def _recall(client: httpx.Client, query: str) -> None:
    body: dict[str, Any] = {"agent_id": _AGENT, "query": query}
    answer = client.post("/v0/recall", json=body).raise_for_status().json()
    assert len(answer["results"]) == 5


def _timed(call: Callable[[], None]) -> list[float]:
    for _ in range(_WARM_UP):
        call()
    taken = []
    for _ in range(_CALLS):
        started_at = time.perf_counter()
        call()
        taken.append((time.perf_counter() - started_at) * 1000)
    return taken


def _p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[18]


if __name__ == "__main__":
    main()
