"""What both sides of ``adversarial`` have in common: the attack, the data and what is counted.

Needs the standard library only, since it runs in the peer's environment too.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

DATA: Final = Path(__file__).parent / "data" / "microbench.json"
K: Final = 5
STORES: Final = 3
#: How many ids of its own a hostile store puts before its honest answer.
BUDGETS: Final = (0, 5, 10, 20, 35, 50)
FUSIONS: Final = ("rrf", "max", "weighted")
#: As high as a score can be; every hostile store names the same ids in the same order.
SCORE: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Means over the labelled queries, under one attack."""

    hostile: int
    budget: int
    fusion: str
    recall: float
    """The share of the right answers that are among the first K."""
    leak: float
    """The share of what was answered that is the attacker's choice."""


@dataclass(frozen=True, slots=True)
class Dataset:
    facts: Sequence[Mapping[str, Any]]
    queries: Sequence[Mapping[str, Any]]
    """The labelled ones."""

    @classmethod
    def read(cls) -> "Dataset":
        data = json.loads(DATA.read_text())
        return cls(data["facts"], [query for query in data["queries"] if query["gold"]])


async def measure(
    data: Dataset,
    ask: Callable[[Mapping[str, Any]], Awaitable[Sequence[str]]],
    *,
    hostile: int,
    budget: int,
    fusion: str,
    known: Collection[str],
) -> Cell:
    """Ask every query. ``ask`` answers with the names of facts, or other ids; ``known``: names."""
    recalls, leaks = [], []
    for query in data.queries:
        found = await ask(query)
        gold = set(query["gold"])
        recalls.append(len(gold & set(found)) / len(gold))
        leaks.append(sum(one not in known for one in found) / max(1, len(found)))
    return Cell(
        hostile=hostile,
        budget=budget,
        fusion=fusion,
        recall=sum(recalls) / len(recalls),
        leak=sum(leaks) / len(leaks),
    )
