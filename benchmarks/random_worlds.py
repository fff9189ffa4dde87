"""Ask random questions of random worlds over HTTP and hold each answer against brute force.

    python -m benchmarks.random_worlds --worlds 500 --noise 10000 [--store pgvector]

A world is a small agent's memories, live, staged, rejected, forgotten, erased, archived, demoted,
expired or not yet delivered, among the many of noisy agents that use the same words. What a
question may see is decided here again, the slow and obvious way, from what was written.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks import bulk
from benchmarks.bulk import Written

WORDS = ("apple", "pie", "red", "bicycle", "train", "noon", "tea", "oslo")
WORDLESS = "?!"
"""A query that has a vector and no words: ranked by vectors alone."""
DAY_MS = 86_400_000
STATES = ("live",) * 8 + ("demoted",) * 2
STATES += ("staged", "rejected", "forgotten", "erased", "archived")
CROWDED = ("demoted",) * 9 + ("live",)
QUESTIONS = 4
"""To each world."""
FILTERS: tuple[tuple[dict[str, Any], Callable[[dict[str, Any]], bool]], ...] = (
    ({"n": {"$gte": 8}}, lambda data: data["n"] >= 8),
    ({"n": 3}, lambda data: data["n"] == 3),
    ({"tags": {"$contains": "x"}}, lambda data: "x" in data["tags"]),
    ({"$or": [{"n": 1}, {"tags": {"$contains": "y"}}]}, lambda d: d["n"] == 1 or "y" in d["tags"]),
    ({"$not": {"n": {"$lt": 9}}}, lambda data: data["n"] >= 9),
    ({"deep.n": {"$in": [1, 2]}}, lambda data: data["deep"]["n"] in (1, 2)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the campaign did and found. ``problems`` is empty if recall was always right."""

    worlds: int
    rows: int
    recalled: int
    seconds: float
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.worlds} worlds, {self.rows} rows, {self.recalled} memories recalled"
            f" in {self.seconds:.0f} s: {len(self.problems)} problems"
        )


def run(worlds: int, *, noise: int, first_seed: int = 1) -> Report:
    """Needs Django, an empty ledger and a store; the embedder becomes one that hashes words."""
    from governance import stores_runtime
    from governance.clock import now_ms

    begun = time.monotonic()
    with _hashing_embedder():
        campaign = _Campaign(now_ms())
        campaign.write(_noise(random.Random(first_seed), noise, campaign.now_ms))
        for number in range(worlds):
            campaign.one_world(number, random.Random(first_seed * 1_000_000 + number))
        stores_runtime.close()
    return Report(
        worlds=worlds,
        rows=len(campaign.written),
        recalled=campaign.recalled,
        seconds=time.monotonic() - begun,
        problems=campaign.problems,
    )


@contextmanager
def _hashing_embedder() -> Iterator[None]:
    from governance import embedding, stores_runtime
    from stores.testing import HashEmbedder

    stores_runtime.close()
    opening = embedding.open_embedder
    embedding.open_embedder = lambda name: HashEmbedder()
    embedding.embedder.cache_clear()
    try:
        yield
    finally:
        embedding.open_embedder = opening
        embedding.embedder.cache_clear()


@contextmanager
def _naming_at_most(limit: int) -> Iterator[None]:
    """Above ``limit`` visible memories a recall asks the store without naming them."""
    from django.conf import settings

    usual = settings.ENVIRONMENT
    settings.ENVIRONMENT = usual.model_copy(update={"within_limit": limit})
    try:
        yield
    finally:
        settings.ENVIRONMENT = usual


def _noise(chance: random.Random, size: int, now_ms: int) -> list[Written]:
    agents = ("noisy", "Small", "small ", "small/1")
    return [_memory(chance, chance.choice(agents), now_ms) for _ in range(size)]


def _memory(
    chance: random.Random, agent_id: str, now_ms: int, states: Sequence[str] = STATES
) -> Written:
    return Written(
        id=f"{chance.getrandbits(80):020x}",
        agent_id=agent_id,
        user_id=chance.choice((None, "ann", "bob")),
        type=chance.choice(("semantic", "emotional", "episodic")),
        content=" ".join(chance.choices(WORDS, k=chance.randint(1, 5))),
        metadata={
            "n": chance.randint(0, 9),
            "tags": chance.sample("xyz", chance.randint(0, 2)),
            "deep": {"n": chance.randint(0, 9)},
        },
        created_at=now_ms - chance.randint(0, 9) * DAY_MS - DAY_MS // 2,
        expires_at=chance.choice((None, None, None, now_ms - 1, now_ms + 30 * DAY_MS)),
        state=chance.choice(states),
    )


class _Campaign:
    def __init__(self, now_ms: int) -> None:
        from django.test import Client

        from governance import access
        from governance.models import Scope

        self.now_ms = now_ms
        self.written: list[Written] = []
        self.recalled = 0
        self.problems: list[str] = []
        self._client = Client(raise_request_exception=False)
        self._workspace = access.create_workspace(slug="worlds", name="Worlds", now_ms=now_ms)
        owner = access.create_service_account(self._workspace, "agents")
        _, self._key = access.create_key(
            self._workspace.pk, owner, scopes=list(Scope), agents=None, now_ms=now_ms
        )

    def one_world(self, number: int, chance: random.Random) -> None:
        agent_id = f"small-{number}"
        size = chance.choice((1, 20, 60, 200))
        # In one world of ten nearly everything is demoted, in the way of what is not.
        states = CROWDED if number % 10 == 0 else STATES
        mine = [_memory(chance, agent_id, self.now_ms, states) for _ in range(size)]
        # One world in three has memories that the store does not know yet.
        self.write(mine, late=chance.choice((0.0, 0.0, 0.3)), chance=chance)
        for _ in range(QUESTIONS):
            asked = "noisy" if chance.random() < 0.05 else agent_id
            with _naming_at_most(chance.choice((5, 2_000))):
                self._ask(f"world {number}", self._question(chance, asked))

    def write(
        self, memories: Sequence[Written], *, late: float = 0, chance: random.Random | None = None
    ) -> None:
        """To the ledger and, but for a share of ``late`` ones, to the store."""
        held_back = {memory.id for memory in memories if chance and chance.random() < late}
        bulk.write(self._workspace, memories, now_ms=self.now_ms, held_back=held_back)
        self.written += memories

    def _question(self, chance: random.Random, agent_id: str) -> dict[str, Any]:
        by_vector = chance.random() < 0.4
        ways: dict[str, Sequence[Any]] = {
            "user_id": (None, None, "ann"),
            "types": (None, None, ["semantic", "emotional"]),
            "filter": (*[None] * len(FILTERS), *(raw for raw, _ in FILTERS)),
            "fresher_than_days": (None, None, 3),
        }
        question = {name: chance.choice(values) for name, values in ways.items()} | {
            "agent_id": agent_id,
            "query": WORDLESS if by_vector else " ".join(chance.choices(WORDS, k=3)),
            "fusion": "max" if by_vector else chance.choice(("rrf", "max", "weighted")),
            "k": chance.choice((1, 3, 10, 50, 1000, chance.randint(1, 1000))),
        }
        if by_vector:
            question["types"] = ["semantic", "emotional"]  # episodes of one time raise each other
        return {name: value for name, value in question.items() if value is not None}

    def _ask(self, name: str, question: dict[str, Any]) -> None:
        response = self._client.post(
            "/v0/recall",
            json.dumps(question),
            content_type="application/json",
            headers={"Authorization": f"Bearer {self._key}"},
        )
        if response.status_code != 200:
            self._problem(name, question, f"answered {response.status_code}")
            return
        hits = response.json()["results"]
        self.recalled += len(hits)
        visible = {memory.id: memory for memory in self.written if self._sees(question, memory)}
        ids = [hit["id"] for hit in hits]
        if len(set(ids)) != len(ids):
            self._problem(name, question, "a memory twice")
        if unseen := set(ids) - visible.keys():
            self._problem(name, question, f"{len(unseen)} that must not be seen")
        if len(ids) != min(question["k"], len(visible)):
            self._problem(name, question, f"{len(ids)} of {len(visible)} visible")
        if question["query"] == WORDLESS:
            self._check_nearest(name, question, list(visible.values()), hits)

    def _sees(self, question: dict[str, Any], memory: Written) -> bool:
        days = question.get("fresher_than_days")
        return (
            memory.agent_id == question["agent_id"]
            and question.get("user_id") in (None, memory.user_id)
            and memory.state in ("live", "demoted")
            and (memory.expires_at is None or memory.expires_at > self.now_ms)
            and ("types" not in question or memory.type in question["types"])
            and (days is None or memory.created_at >= self.now_ms - days * DAY_MS)
            and ("filter" not in question or _passes(question["filter"], memory.metadata))
        )

    def _check_nearest(
        self,
        name: str,
        question: dict[str, Any],
        visible: Sequence[Written],
        hits: Sequence[dict[str, Any]],
    ) -> None:
        """By vectors alone the best k scores are known exactly."""
        from django.conf import settings

        vectors = bulk.vectors({WORDLESS, *(memory.content for memory in visible)})
        query = vectors[WORDLESS].vector
        weight = {"live": 1.0, "demoted": settings.ENVIRONMENT.demotion_factor}
        expected = sorted(
            (
                weight[memory.state] * float(1 + np.dot(vectors[memory.content].vector, query)) / 2
                for memory in visible
            ),
            reverse=True,
        )[: question["k"]]
        if not np.allclose([hit["score"] for hit in hits], expected[: len(hits)], atol=1e-5):
            self._problem(name, question, "not the nearest")

    def _problem(self, name: str, question: dict[str, Any], what: str) -> None:
        self.problems.append(f"{name}: {what}, asked {json.dumps(question)}")


def _passes(raw: dict[str, Any], metadata: dict[str, Any]) -> bool:
    return next(passes for known, passes in FILTERS if known == raw)(metadata)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--worlds", type=int, default=500)
    parser.add_argument("--noise", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", choices=("sqlite-vec", "pgvector"), default="sqlite-vec")
    options = parser.parse_args()
    home = tempfile.mkdtemp(prefix="memorywire-worlds-")
    os.environ |= {"MEMORYWIRE_HOME": home, "MEMORYWIRE_LOG_LEVEL": "ERROR"}
    if options.store == "pgvector":
        from tests import servers

        os.environ["MEMORYWIRE_STORE_URLS"] = servers.postgres().new_database(scheme="pgvector")
    os.environ["DJANGO_SETTINGS_MODULE"] = "memorywire_site.settings"
    try:
        import django

        django.setup()
        from django.conf import settings
        from django.core.management import call_command

        settings.ALLOWED_HOSTS.append("testserver")
        call_command("migrate", verbosity=0)
        report = run(options.worlds, noise=options.noise, first_seed=options.seed)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    print(report)
    for problem in report.problems[:20]:
        print(f"  {problem}")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
