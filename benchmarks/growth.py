"""How latency grows with one agent's memories: recall and remember at 1k, 10k, 50k.

    python -m benchmarks.growth [--full]

Memories are sentences put together from lists of words, the same every time. They are written in
bulk while no server runs, through ledger, outbox and store, with the default embedder; then the
server is started and asked over HTTP by one client. ``--full`` goes on to 50,000.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import httpx

from benchmarks.local_server import ROOT, LocalServer, installed, serving

SIZES: Final = (1_000, 10_000)
FULL_SIZES: Final = (*SIZES, 50_000)
_CALLS: Final = 60
_WARM_UP: Final = 10
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
    """Latencies at one size, in milliseconds."""

    memories: int
    remember_ms: list[float]
    recall_ms: list[float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--full", action="store_true", help="go on to 50,000 memories")
    parser.add_argument("--write", type=int, help=argparse.SUPPRESS)  # the writing process itself
    options = parser.parse_args()
    if options.write is not None:
        _write(options.write)
        return
    print(f"{'memories':>9}{'recall p50':>14}{'p95':>10}{'remember p50':>16}{'p95':>10}")
    with installed() as server:
        for measured in run(server, FULL_SIZES if options.full else SIZES):
            print(line(measured), flush=True)


def run(server: LocalServer, sizes: tuple[int, ...]) -> Iterator[Measured]:
    """Fill one agent up to each size in turn, serve, and measure there."""
    held = 0
    for size in sizes:
        _write_in_its_own_process(server, size - held)
        with serving(server), server.client() as client:
            yield _measure(client, size)
        held = size + _CALLS + _WARM_UP


def _measure(client: httpx.Client, size: int) -> Measured:
    chance = random.Random(size)
    return Measured(
        memories=size,
        recall_ms=_timed(lambda: _recall(client, question(chance))),
        remember_ms=_timed(lambda: _remember(client, sentence(chance))),
    )


def _write_in_its_own_process(server: LocalServer, count: int) -> None:
    settings = {"MEMORYWIRE_HOME": str(server.home), "MEMORYWIRE_LOG_LEVEL": "ERROR"}
    subprocess.run(
        [sys.executable, "-m", "benchmarks.growth", "--write", str(count)],
        cwd=ROOT,
        env=os.environ | settings | {"DJANGO_SETTINGS_MODULE": "memorywire_site.settings"},
        check=True,
    )


def _write(count: int) -> None:
    import django

    django.setup()
    from benchmarks import bulk
    from governance import stores_runtime
    from governance.clock import now_ms
    from governance.ids import new_id
    from governance.models import Workspace

    chance, now = random.Random(count), now_ms()
    memories = [
        bulk.Written(id=new_id(), agent_id=_AGENT, content=sentence(chance), created_at=now)
        for _ in range(count)
    ]
    bulk.write(Workspace.objects.get(), memories, now_ms=now)
    stores_runtime.close()


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
    cells = [f"{measured.memories:9,}"]
    for values in (measured.recall_ms, measured.remember_ms):
        p50, p95 = statistics.median(values), statistics.quantiles(values, n=20)[18]
        cells.append(f"{p50:{11 if len(cells) == 1 else 13}.1f} ms{p95:7.1f} ms")
    return "".join(cells)


def _remember(client: httpx.Client, content: str) -> None:
    body = {"agent_id": _AGENT, "type": "semantic", "content": content}
    client.post("/v0/remember", json=body).raise_for_status()


def _recall(client: httpx.Client, query: str) -> None:
    body = {"agent_id": _AGENT, "query": query}
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


if __name__ == "__main__":
    main()
