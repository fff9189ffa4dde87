"""Hostile stores among three: ours beside the peer's router, in the same run.

    python -m benchmarks.adversarial [--slice]

One or two of three stores put ids of their choice before their answer, at the highest score. The
peer's are invented. Ours are invented too, or name what the asker must not see: another agent's
memories, forgotten and staged ones. Ours runs whole, from the HTTP endpoint to sqlite-vec, pgvector
and a store in memory; the worst of every choice of hostile stores is counted.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from benchmarks import attack, peer
from benchmarks.attack import Cell, Dataset
from benchmarks.local_server import ROOT
from stores.protocol import Candidate, Replica, SearchResult

AGENT = "bench"


@dataclass(slots=True)
class Attack:
    """Which stores are hostile at this moment, and what they put in front."""

    ids: Sequence[str] = ()
    hostile: Collection[str] = ()
    budget: int = 0


class HostileReplica:
    """A replica that tells what ``Attack`` wants it to tell, and then the truth."""

    def __init__(self, inner: Replica, orders: Attack) -> None:
        self._inner, self._orders = inner, orders

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def search(self, *args: Any, limit: int, **more: Any) -> SearchResult:
        honest = await self._inner.search(*args, limit=limit, **more)
        if self._inner.name not in self._orders.hostile:
            return honest
        chosen = self._orders.ids[: self._orders.budget]
        together = [*(Candidate(id=pk, score=attack.SCORE) for pk in chosen), *honest.candidates]
        return SearchResult(candidates=together[:limit], exhausted=honest.exhausted)


def ours(budgets: Sequence[int] = attack.BUDGETS) -> list[Cell]:
    """Our cells, measured in this process, which must not have started Django yet."""
    from tests import servers

    home = tempfile.mkdtemp(prefix="memorywire-adversarial-")
    stores = [
        f"sqlite-vec://{home}/store.sqlite3",
        servers.postgres().new_database(scheme="pgvector"),
        "memory://third",
    ]
    os.environ |= {
        "MEMORYWIRE_HOME": home,
        "MEMORYWIRE_LOG_LEVEL": "ERROR",
        "MEMORYWIRE_CALLS_PER_MINUTE": "0",
        "MEMORYWIRE_STORE_URLS": ",".join(stores),
        "DJANGO_SETTINGS_MODULE": "memorywire_site.settings",
    }
    try:
        return _Server().cells(budgets)
    finally:
        shutil.rmtree(home, ignore_errors=True)


class _Server:
    """Ours, in this process, its stores in the hands of ``Attack``."""

    def __init__(self) -> None:
        import django

        django.setup()
        from django.conf import settings
        from django.core.management import call_command
        from django.test import Client

        from governance import access, stores_runtime
        from governance.clock import now_ms
        from governance.models import Scope

        settings.ALLOWED_HOSTS.append("testserver")
        call_command("migrate", verbosity=0)
        self._orders = Attack()
        open_replica = stores_runtime.open_replica
        stores_runtime.open_replica = lambda url, **more: HostileReplica(
            open_replica(url, **more), self._orders
        )
        self._client = Client()
        self._workspace = access.create_workspace(slug="bench", name="Bench", now_ms=now_ms())
        owner = access.create_service_account(self._workspace, "agents")
        _, self._key = access.create_key(
            self._workspace.pk, owner, scopes=list(Scope), agents=None, now_ms=now_ms()
        )
        self._data = Dataset.read()
        self._fact_of = self._write_facts()
        self._orders.ids = self._write_what_nobody_may_see()

    def cells(self, budgets: Sequence[int]) -> list[Cell]:
        return [
            self._worst(hostile, budget, fusion)
            for hostile in range(1, attack.STORES)
            for budget in budgets
            for fusion in attack.FUSIONS
        ]

    def _worst(self, hostile: int, budget: int, fusion: str) -> Cell:
        from governance import stores_runtime

        cells = []
        for chosen in combinations(stores_runtime.store_names(), hostile):
            self._orders.hostile, self._orders.budget = chosen, budget

            async def ask(query: Mapping[str, Any]) -> Sequence[str]:
                return await asyncio.to_thread(self._recall, query, fusion)

            measured = attack.measure(
                self._data,
                ask,
                hostile=hostile,
                budget=budget,
                fusion=fusion,
                known=set(self._fact_of.values()),
            )
            cells.append(asyncio.run(measured))
        return Cell(
            hostile=hostile,
            budget=budget,
            fusion=fusion,
            recall=min(cell.recall for cell in cells),
            leak=max(cell.leak for cell in cells),
        )

    def _write_facts(self) -> dict[str, str]:
        return {
            self._post("remember", {key: fact[key] for key in ("user_id", "type", "content")})[
                "id"
            ]: fact["id"]
            for fact in self._data.facts
        }

    def _write_what_nobody_may_see(self) -> list[str]:
        """Ids to attack with; most of them exist, and say what the queries ask for."""
        from benchmarks import bulk
        from governance.clock import now_ms
        from governance.ids import new_id

        now = now_ms()
        kinds = (("other agent", "live"), (AGENT, "forgotten"), (AGENT, "staged"))
        written = [
            bulk.Written(
                id=new_id(),
                agent_id=agent,
                user_id=query["user_id"],
                content=f"{query['query']} Attacker's answer {number}.",
                created_at=now,
                state=state,
            )
            for number, query in enumerate(self._data.queries)
            for agent, state in kinds
        ]
        bulk.write(self._workspace, written, now_ms=now)
        ids = [memory.id for memory in written] + [new_id() for _ in written]
        random.Random(1).shuffle(ids)
        return ids

    def _recall(self, query: Mapping[str, Any], fusion: str) -> list[str]:
        body = {key: query[key] for key in ("user_id", "query")} | {"k": attack.K, "fusion": fusion}
        hits = self._post("recall", body)["results"]
        return [self._fact_of.get(hit["id"], hit["id"]) for hit in hits]

    def _post(self, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self._client.post(
            f"/v0/{operation}",
            json.dumps(body | {"agent_id": AGENT}),
            content_type="application/json",
            headers={"Authorization": f"Bearer {self._key}"},
        )
        assert answer.status_code == 200, answer.content
        return dict(answer.json())


def theirs() -> list[Cell]:
    """The peer's cells, measured in its own environment."""
    done = subprocess.run(
        [peer.python(), "-m", "benchmarks.adversarial_peer"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [Cell(**cell) for cell in json.loads(done.stdout)]


def lines(our_cells: Iterable[Cell], their_cells: Iterable[Cell]) -> list[str]:
    """A table: a row per attack, ours and the peer's recall and leak."""
    table = [
        f"recall@{attack.K} and leak{'ours':>22}{f'memorywire {peer.VERSION}':>26}",
        "hostile  budget  fusion        recall   leak         recall   leak",
    ]
    for mine, other in zip(our_cells, their_cells, strict=True):
        table.append(
            f"{mine.hostile} of {attack.STORES}{mine.budget:10}  {mine.fusion:12}"
            f"{mine.recall:8.3f}{mine.leak:7.3f}{other.recall:15.3f}{other.leak:7.3f}"
        )
    return table


def is_met(our_cells: Iterable[Cell]) -> bool:
    return all(cell.recall == 1 and cell.leak == 0 for cell in our_cells)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--slice", action="store_true", help="ours alone, at the highest budget")
    if parser.parse_args().slice:
        our_cells = ours(attack.BUDGETS[-1:])
        print(*our_cells, sep="\n")
        return 0 if is_met(our_cells) else 1
    their_cells = theirs()
    our_cells = ours()
    print("\n".join(lines(our_cells, their_cells)))
    return 0 if is_met(our_cells) else 1


if __name__ == "__main__":
    sys.exit(main())
