"""What grows with one agent's memories: latency, the server's memory, and what lies on disk.

    python -m benchmarks.growth [--full] [--store pgvector]

Memories are sentences put together from lists of words, the same every time. They are written in
bulk while no server runs, through ledger, outbox and store, with the default embedder; then the
server is started and asked over HTTP by one client. ``--full`` goes on to 50,000 and 100,000. With
pgvector the ledger is in the same PostgreSQL, which comes from a package and is started here.
"""

import argparse
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import httpx
import psycopg

from benchmarks.local_server import ROOT, LocalServer, installed, serving

SIZES: Final = (1_000, 10_000)
FULL_SIZES: Final = (*SIZES, 50_000, 100_000)
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
    """What was measured at one size; latencies in milliseconds."""

    memories: int
    bytes_on_disk: int
    """Ledger and store, less what they take empty."""
    resident_bytes: int
    """The server's, after it has answered."""
    remember_ms: list[float]
    recall_ms: list[float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--full", action="store_true", help="go on to 100,000 memories")
    parser.add_argument("--store", choices=("sqlite-vec", "pgvector"), default="sqlite-vec")
    parser.add_argument("--write", type=int, help=argparse.SUPPRESS)  # the writing process itself
    options = parser.parse_args()
    if options.write is not None:
        _write(options.write)
        return
    print(HEADING)
    with installed(**_settings(options.store)) as server:
        for measured in run(server, FULL_SIZES if options.full else SIZES):
            print(line(measured), flush=True)


def _settings(store: str) -> dict[str, str]:
    if store == "sqlite-vec":
        return {}
    from tests import servers

    return {"database_url": servers.postgres().new_database()}


def run(server: LocalServer, sizes: tuple[int, ...]) -> Iterator[Measured]:
    """Fill one agent up to each size in turn, serve, and measure there."""
    held, empty = 0, _bytes_on_disk(server)
    for size in sizes:
        _write_in_its_own_process(server, size - held)
        on_disk = _bytes_on_disk(server) - empty
        with serving(server) as process, server.client() as client:
            chance = random.Random(size)
            yield Measured(
                memories=size,
                bytes_on_disk=on_disk,
                recall_ms=_timed(partial(_recall, client, chance)),
                remember_ms=_timed(partial(_remember, client, chance)),
                resident_bytes=_resident_bytes(process.pid),
            )
        held = size + _CALLS + _WARM_UP


def _bytes_on_disk(server: LocalServer) -> int:
    if url := server.settings.get("database_url"):
        with psycopg.connect(url) as connection:
            row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        assert row is not None
        return int(row[0])
    return sum(path.stat().st_size for path in server.home.glob("*.sqlite3*"))


def _resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _write_in_its_own_process(server: LocalServer, count: int) -> None:
    subprocess.run(
        [sys.executable, "-m", "benchmarks.growth", "--write", str(count)],
        cwd=ROOT,
        env=server.environment(log_level="ERROR"),
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


HEADING: Final = (
    f"{'memories':>9}{'recall p50':>14}{'p95':>10}{'remember p50':>16}{'p95':>10}"
    f"{'resident':>13}{'bytes each':>13}"
)


def line(measured: Measured) -> str:
    """One row under ``HEADING``."""
    cells = [f"{measured.memories:9,}"]
    for values, width in ((measured.recall_ms, 11), (measured.remember_ms, 13)):
        p50, p95 = statistics.median(values), statistics.quantiles(values, n=20)[18]
        cells.append(f"{p50:{width}.1f} ms{p95:7.1f} ms")
    cells.append(f"{measured.resident_bytes / 2**20:9.0f} MiB")
    cells.append(f"{measured.bytes_on_disk / measured.memories:13,.0f}")
    return "".join(cells)


def _remember(client: httpx.Client, chance: random.Random) -> None:
    body = {"agent_id": _AGENT, "type": "semantic", "content": sentence(chance)}
    client.post("/v0/remember", json=body).raise_for_status()


def _recall(client: httpx.Client, chance: random.Random) -> None:
    body = {"agent_id": _AGENT, "query": question(chance)}
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
