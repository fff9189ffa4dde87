"""The paper's microbenchmark: 100 facts, 50 queries, our server beside the peer.

    python -m benchmarks.microbench

The shape is the paper's, facts and queries are our own (``data/microbench.json``): ten people with
ten facts each; 16 paraphrases, 14 exact phrases, 12 queries with several answers, and 8 that
nothing answers, which are timed and not scored. Ours is called over real HTTP by one client, the
peer in its own process with its store on disk. Same machine, same run, same embedder.

In every round each side starts with an empty memory, remembers all facts and is asked all queries,
first ours, then the peer. Neither works while the other is timed. A ratio is the median of the
rounds' ratios of medians, which drifting load on the machine disturbs least. The tenth percentile
tells what a call costs when nothing else wants the processor.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.contenders import Contender, ours, theirs
from benchmarks.local_server import started

DATA: Final = Path(__file__).parent / "data" / "microbench.json"
K: Final = 5
ROUNDS: Final = 5
RATIO_MAX: Final = 0.5
"""Our medians are to be at most half the peer's."""
_SETTLE_SECONDS: Final = 1.0
_WARM_UP_CALLS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One side's figures of one round; times in milliseconds."""

    remember_ms: Sequence[float]
    recall_ms: Sequence[float]
    recalls_at_k: Sequence[float]
    missed: Sequence[str]
    """Labelled queries whose answers are not all among the first k."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--as-installed", action="store_true", help="the peer with the torch it asks for"
    )
    options = parser.parse_args()
    data = json.loads(DATA.read_text())
    with (
        started() as server,
        ours(server) as our_side,
        theirs(as_installed=options.as_installed) as their_side,
    ):
        sides: list[Contender] = [our_side, their_side]
        rounds = measure(sides, data, rounds=options.rounds)
    for line in lines(rounds):
        print(line)
    return 0 if is_met(*rounds.values()) else 1


def measure(
    sides: Iterable[Contender], data: Mapping[str, Any], *, rounds: int
) -> dict[str, list[Round]]:
    """Every side's rounds, by its name."""
    sides = list(sides)
    for side in sides:
        _warm_up(side, data)
    taken: dict[str, list[Round]] = {side.name: [] for side in sides}
    for _ in range(rounds):
        for side in sides:
            time.sleep(_SETTLE_SECONDS)  # what the other still had to do is done
            taken[side.name].append(_round(side, data))
    return taken


def is_met(ours: Sequence[Round], theirs: Sequence[Round]) -> bool:
    """Whether every labelled query found its answers in at most half the peer's time."""
    return (
        not any(one.missed for one in ours)
        and ratio([one.remember_ms for one in ours], [one.remember_ms for one in theirs])
        <= RATIO_MAX
        and ratio([one.recall_ms for one in ours], [one.recall_ms for one in theirs]) <= RATIO_MAX
    )


def ratio(ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> float:
    """The median over rounds of our median by theirs."""
    return statistics.median(
        statistics.median(mine) / statistics.median(other)
        for mine, other in zip(ours, theirs, strict=True)
    )


def lines(rounds: Mapping[str, Sequence[Round]]) -> list[str]:
    """The figures as a table, then the queries that missed something."""
    (our_name, our_rounds), (their_name, their_rounds) = rounds.items()
    first = our_rounds[0]
    labelled = len(first.recalls_at_k)
    table = [
        f"{len(first.remember_ms)} facts, {labelled} labelled queries and"
        f" {len(first.recall_ms) - labelled} without an answer, k {K}, {len(our_rounds)} rounds",
        f"{'':14}{our_name:>18}{their_name:>25}{'ours/peer':>12}",
        f"{f'recall@{K}':14}{_recall_at_k(our_rounds):18.3f}{_recall_at_k(their_rounds):25.3f}",
    ]
    for what in ("remember_ms", "recall_ms"):
        mine = [getattr(one, what) for one in our_rounds]
        other = [getattr(one, what) for one in their_rounds]
        label = what.removesuffix("_ms")
        table.append(
            f"{f'{label} p50':14}{_cut(mine, 50):15.1f} ms{_cut(other, 50):22.1f} ms"
            f"{ratio(mine, other):12.2f}"
        )
        table += [
            f"{f'{label} p{percent}':14}{_cut(mine, percent):15.1f} ms"
            f"{_cut(other, percent):22.1f} ms"
            for percent in (10, 95)
        ]
    missed = sorted({query for one in our_rounds for query in one.missed})
    return table + [f"ours missed an answer of: {query}" for query in missed]


def _warm_up(side: Contender, data: Mapping[str, Any]) -> None:
    side.start_over()
    for fact in data["facts"][:_WARM_UP_CALLS]:
        side.remember(_fact_body(fact))
    for query in data["queries"][:_WARM_UP_CALLS]:
        side.recall(_query_body(query))


def _round(side: Contender, data: Mapping[str, Any]) -> Round:
    side.start_over()
    fact_of: dict[str, str] = {}
    remember_ms, recall_ms, recalls, missed = [], [], [], []
    for fact in data["facts"]:
        written = side.remember(_fact_body(fact))
        remember_ms.append(written.ms)
        fact_of[written.answer["id"]] = fact["id"]
    for query in data["queries"]:
        found = side.recall(_query_body(query))
        recall_ms.append(found.ms)
        if gold := set(query["gold"]):
            hits = {fact_of[hit["id"]] for hit in found.answer["results"][:K]}
            recalls.append(len(gold & hits) / len(gold))
            if gold - hits:
                missed.append(query["query"])
    return Round(remember_ms=remember_ms, recall_ms=recall_ms, recalls_at_k=recalls, missed=missed)


def _fact_body(fact: Mapping[str, Any]) -> dict[str, Any]:
    return {key: fact[key] for key in ("user_id", "type", "content")}


def _query_body(query: Mapping[str, Any]) -> dict[str, Any]:
    return {"user_id": query["user_id"], "query": query["query"], "k": K}


def _recall_at_k(rounds: Sequence[Round]) -> float:
    return statistics.fmean(value for one in rounds for value in one.recalls_at_k)


def _cut(rounds: Sequence[Sequence[float]], percent: int) -> float:
    return statistics.quantiles([ms for one in rounds for ms in one], n=100)[percent - 1]


if __name__ == "__main__":
    sys.exit(main())
