"""From what the stores ranked and the ledger confirmed to the hits of an answer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.conf import settings

from governance.models import Memory
from stores import fusion, graph, procedures
from stores.protocol import Candidate
from stores.wire import MemoryRecord, MemoryType, RecallHit, RecallRequest

LEDGER = "ledger"
"""The name under which the ledger's own ranking appears as ``source_store``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """One source's candidates, best first."""

    source: str
    candidates: Sequence[Candidate]
    exhausted: bool = True


def hits(
    request: RecallRequest,
    rankings: Sequence[Ranking],
    memories: Mapping[str, Memory],
    *,
    around: Iterable[MemoryRecord] = (),
) -> list[RecallHit]:
    """Fuse what the ledger confirmed of each ranking, and answer with the ledger's text.

    Args:
        memories: what may be answered, by id.
        around: what else may lie on the way from one hit to another.
    """
    checked = {
        ranking.source: [c for c in ranking.candidates if c.id in memories] for ranking in rankings
    }
    depth = max(request.k, fusion.FUSED_DEPTH)
    cut = {
        source: fusion.cut(
            candidates, depth, is_strong=lambda found: memories[found].demoted_at is None
        )
        for source, candidates in _in_one_list(checked).items()
    }
    scores = {
        found.id: found.score * weight(memories[found.id])
        for found in fusion.fuse(request.fusion, cut)
    }
    scores = {found.id: found.score for found in fusion.in_order(scores)[:depth]}
    walked = [*(memories[pk].as_record() for pk in scores), *around] if request.hops else []
    nearest = graph.nearest_hits(walked, scores, hops=request.hops)
    lent = graph.boosted(scores, nearest)
    source = _first_source(checked)
    return [
        _hit(
            memories[found.id],
            score=found.score,
            source=source[found.id],
            supporting=graph.supporting(found.id, nearest, lent),
        )
        for found in fusion.in_order(lent)[: request.k]
    ]


def weight(memory: Memory) -> float:
    """What a memory's score is multiplied by."""
    return 1.0 if memory.demoted_at is None else settings.ENVIRONMENT.demotion_factor


def _first_source(checked: Mapping[str, Sequence[Candidate]]) -> dict[str, str]:
    source: dict[str, str] = {}
    for name, candidates in checked.items():
        for candidate in candidates:
            source.setdefault(candidate.id, name)
    return source


def _in_one_list(checked: dict[str, list[Candidate]]) -> dict[str, list[Candidate]]:
    """The ledger's candidates, each at its place in the primary's ranking.

    They are what the primary does not hold yet. As a ranking of their own, the best of them would
    count as much as the primary's best, however little it has to do with the question.
    """
    primary = next(iter(checked), LEDGER)
    if LEDGER not in checked or primary == LEDGER:
        return checked
    others = {name: found for name, found in checked.items() if name not in (primary, LEDGER)}
    together = {found.id: found.score for found in checked[primary] + checked[LEDGER]}
    return {primary: fusion.in_order(together), **others}


def _hit(memory: Memory, *, score: float, source: str, supporting: list[str]) -> RecallHit:
    return RecallHit.model_construct(
        id=memory.pk,
        type=MemoryType(memory.type),
        content=procedures.as_answered(MemoryType(memory.type), memory.content),
        score=score,
        metadata=memory.metadata,
        created_at=memory.created_at,
        supporting=supporting,
        source_store=source,
    )
