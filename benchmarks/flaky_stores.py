"""Write while every store fails, hangs or loses its reply, then hold the stores against the ledger.

    python -m benchmarks.flaky_stores [--writes 20000] [--rate 0.3]

Two stores, sqlite-vec and pgvector, each behind a line on which a share of the calls never arrives,
never returns, or is carried out without its reply. Writers remember, forget, erase and merge all
the while, and a worker delivers. Then the outbox is drained over the same bad lines. At the end
each store must hold every memory that the ledger serves once, in its newest version, and no other.
"""

import argparse
import asyncio
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stores.testing import Fault, FlakyReplica, HashEmbedder

if TYPE_CHECKING:
    from governance.access import Principal

WRITERS = 8
AGENTS = 20
BATCHES_MAX = 20_000
_FAULTS = (Fault.FAIL, Fault.HANG, Fault.LOSE_REPLY)
_STORE_LIMITS = {"MEMORYWIRE_DELIVERY_BUDGET_MS": "20", "MEMORYWIRE_LOG_LEVEL": "ERROR"}
_SEND_SECONDS = 0.5


@dataclass(slots=True)
class Line:
    """The way to a store, bad until it is mended, and what calls met on it."""

    rate: float
    dice: random.Random
    is_bad: bool = True
    met: Counter[Fault] = field(default_factory=Counter)

    def faults(self) -> Iterator[Fault]:
        while self.is_bad:
            fault = self.dice.choice(_FAULTS) if self.dice.random() < self.rate else Fault.NONE
            self.met[fault] += 1
            yield fault


@dataclass(slots=True)
class Report:
    """What the campaign did and found. ``problems`` is empty if every store is right."""

    lines: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def run(writes: int, *, rate: float = 0.3, seed: int = 1) -> Report:
    """Run the campaign in this process, which must not have started Django yet."""
    from tests import servers

    home = tempfile.mkdtemp(prefix="memorywire-flaky-")
    os.environ |= _STORE_LIMITS | {
        "MEMORYWIRE_HOME": home,
        "MEMORYWIRE_STORE_URLS": ",".join(
            [
                f"sqlite-vec://{home}/store.sqlite3",
                servers.postgres().new_database(scheme="pgvector"),
            ]
        ),
        "DJANGO_SETTINGS_MODULE": "memorywire_site.settings",
    }
    try:
        principal, lines = _prepare(rate, seed)
        report, started = Report(), time.monotonic()
        with _Worker():
            done = asyncio.run(_write(principal, writes, seed))
        report.lines.append(f"{sum(done.values())} writes: {_counts(done)}")
        report.lines.append(f"still to deliver after the last write: {_undelivered()}")
        report.lines.append(f"drained over the same lines in {_drain()} batches")
        for store, line in lines.items():
            report.lines.append(f"{store}: calls that met {_counts(line.met)}")
            line.is_bad = False
        _hold_against_ledger(report)
        report.lines.append(f"took {time.monotonic() - started:.0f} s")
        return report
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _prepare(rate: float, seed: int) -> tuple["Principal", dict[str, Line]]:
    import django

    django.setup()
    from django.core.management import call_command

    import governance.embedding
    from governance import access, outbox, stores_runtime
    from governance.clock import now_ms
    from governance.models import Scope

    governance.embedding.open_embedder = lambda name: HashEmbedder()  # the stores are on trial
    outbox.SEND_SECONDS = _SEND_SECONDS
    lines = {
        store: Line(rate=rate, dice=random.Random(f"{seed} {store}"))
        for store in stores_runtime.store_names()
    }
    open_replica = stores_runtime.open_replica

    def open_behind_a_line(url: str, **more: Any) -> FlakyReplica:
        inner = open_replica(url, **more)
        return FlakyReplica(inner, lines[inner.name].faults())

    stores_runtime.open_replica = open_behind_a_line
    call_command("migrate", verbosity=0)
    workspace = access.create_workspace(slug="flaky", name="Flaky", now_ms=now_ms())
    owner = access.create_service_account(workspace, "agents")
    _, key = access.create_key(
        workspace.pk, owner, scopes=list(Scope), agents=None, now_ms=now_ms()
    )
    return access.authenticate(key, now_ms=now_ms()), lines


class _Worker:
    """Delivers what is due, as Celery's worker does, until the block ends."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *exception: object) -> None:
        self._done.set()
        self._thread.join()

    def _work(self) -> None:
        from governance import outbox
        from governance.clock import now_ms

        while not self._done.is_set():
            if not outbox.deliver_due(now_ms=now_ms()):
                self._done.wait(0.05)


async def _write(principal: "Principal", writes: int, seed: int) -> Counter[str]:
    """``WRITERS`` at once. How many of which."""
    share, rest = divmod(writes, WRITERS)
    counts = await asyncio.gather(
        *(
            _write_some(principal, share + (number < rest), random.Random(f"{seed} {number}"))
            for number in range(WRITERS)
        )
    )
    return sum(counts, Counter[str]())


async def _write_some(principal: "Principal", writes: int, dice: random.Random) -> Counter[str]:
    from governance import memory
    from governance.clock import now_ms
    from governance.gate import Call
    from stores.wire import ForgetRequest, MergeRequest, RememberRequest

    live: list[tuple[str, str]] = []
    done: Counter[str] = Counter()

    for number in range(writes):
        call = Call(principal=principal, request_id="flaky", now_ms=now_ms())
        choice = dice.random()
        if choice < 0.7 or len(live) < 10:
            agent = f"agent-{dice.randrange(AGENTS)}"
            request = RememberRequest.model_validate(
                {"agent_id": agent, "type": "semantic", "content": f"fact {dice.random()} {number}"}
            )
            live.append((agent, (await memory.remember(call, request)).response.id))
            done["remembered"] += 1
            continue
        agent, memory_id = live.pop(dice.randrange(len(live)))
        other = next((each for each in live if each[0] == agent), None)
        if choice < 0.9 or other is None:
            hard = choice > 0.85
            await memory.forget(
                call, ForgetRequest(agent_id=agent, ids=[memory_id], hard_delete=hard)
            )
            done["erased" if hard else "forgotten"] += 1
        else:
            live.remove(other)
            await memory.merge(
                call, MergeRequest(agent_id=agent, canonical=memory_id, duplicates=[other[1]])
            )
            live.append((agent, memory_id))
            done["merged"] += 1
    return done


def _undelivered() -> int:
    from django.db.models import F

    from governance.models import Delivery

    return Delivery.objects.filter(delivered_version__lt=F("wanted_version")).count()


def _drain() -> int:
    """Deliver until nothing is left, as if every wait were over at once. How many batches."""
    from governance import outbox, stores_runtime
    from governance.clock import now_ms

    stores_runtime.wait(outbox.flush())
    batches = 0
    while _undelivered() and batches < BATCHES_MAX:
        outbox.deliver_due(now_ms=now_ms() + 3_600_000)
        batches += 1
    return batches


def _hold_against_ledger(report: Report) -> None:
    from governance import audit, reconciliation, stores_runtime
    from governance.models import Memory, Workspace

    if left := _undelivered():
        report.problems.append(f"{left} states are undelivered")
    served = dict(Memory.objects.served().values_list("pk", "version"))
    workspace_id = Workspace.objects.get().pk
    for store in stores_runtime.store_names():
        held = list(_held(workspace_id, store))
        report.lines.append(f"{store} holds {len(held)}, the ledger serves {len(served)}")
        if Counter(held) != Counter(served.items()):
            report.problems.append(f"{store} does not hold each once, in its newest version")
        differing = sum(len(progress.findings) for progress in reconciliation.verify(store))
        report.lines.append(f"stores verify {store}: {differing} differences")
        if differing:
            report.problems.append(f"verify found {differing} differences at {store}")
    report.problems += [f"{finding.where}: {finding.problem}" for finding in audit.verify()]
    stores_runtime.close()


def _held(workspace_id: str, store: str) -> Iterator[tuple[str, int]]:
    from governance import stores_runtime

    cursor = None
    while True:
        replica = stores_runtime.wait(stores_runtime.replica(workspace_id, store))
        page = stores_runtime.wait(replica.scan(cursor=cursor))
        yield from ((state.record.id, state.version) for state in page.records)
        if (cursor := page.cursor) is None:
            return


def _counts(counter: Counter[Any]) -> str:
    return ", ".join(f"{number} {what}" for what, number in sorted(counter.items()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--writes", type=int, default=20_000)
    parser.add_argument("--rate", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    report = run(options.writes, rate=options.rate, seed=options.seed)
    print("\n".join(report.lines))
    for problem in report.problems:
        print(f"PROBLEM {problem}")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
