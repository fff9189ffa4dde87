"""Turning several rankings into one. Pure; scores are unitless and higher is better.

Between stores the protocol names three ways: ``rrf``, ``max`` and ``weighted``. Within a store the
vector leg and the text leg see the same memories, so their scores can be compared directly:
``combine_legs``. Episodes are raised by what stands beside them: ``add_context``.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from stores.protocol import Candidate
from stores.wire import Fusion

RRF_K: Final = 60
#: So many of each list are fused, or as many as are asked for: what two long lists have in common
#: far down says nothing, and would count for as much as the first of one.
FUSED_DEPTH: Final = 20
#: The text leg's part in a store's own score; the rest is the vector leg's. Chosen with MiniLM on
#: five conversations of LoCoMo (recall@10 .696, words alone .644) and right on the other five
#: (.679, .657); anything from .2 to .4 is within a point of it.
TEXT_SHARE: Final = 0.3
#: How much of a neighbour's lead an episode takes over, and of the lead of the one behind it.
#: Chosen and reported in the same way: recall@10 .787 on the five conversations and .760 on the
#: other five; without the second neighbours .773 and .752.
FROM_BEFORE: Final = 0.8
FROM_AFTER: Final = 0.4
FROM_SECOND_BEFORE: Final = 0.4
FROM_SECOND_AFTER: Final = 0.3
#: Episodes further apart belong to different occasions, unless they are of the same session.
NEIGHBOUR_GAP_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The episodes just before and just after one, by id; None where there is none.

    Within its session; where that begins or ends, or there is none, the nearest in time that is at
    most ``NEIGHBOUR_GAP_MS`` away.
    """

    before: str | None
    after: str | None


_ALONE: Final = Neighbours(None, None)


def fuse(
    method: Fusion,
    rankings: Mapping[str, Sequence[Candidate]],
    *,
    weights: Mapping[str, float] | None = None,
) -> list[Candidate]:
    """Merge the candidates of several stores, best first, each id once.

    Args:
        rankings: per store, its candidates best first.
        weights: per store, for ``weighted`` only; a store without one counts 1.
    """
    match method:
        case Fusion.RRF:
            scores = reciprocal_rank_fusion(
                [[candidate.id for candidate in ranking] for ranking in rankings.values()]
            )
        case Fusion.MAX:
            scores = highest_score(_scores_by_store(rankings))
        case Fusion.WEIGHTED:
            scores = weighted_sum(_scores_by_store(rankings), weights or {})
    return in_order(scores)


def sane(candidates: Sequence[Candidate], *, limit: int) -> list[Candidate]:
    """What can be made of a store's answer, should the store be wrong or worse.

    Each id once, at its first place; at most ``limit``; scores that are numbers, within [0, 1].
    """
    kept: dict[str, float] = {}
    for candidate in candidates[:limit]:
        if not math.isnan(candidate.score):
            kept.setdefault(candidate.id, min(1.0, max(0.0, candidate.score)))
    return [Candidate(id=memory_id, score=score) for memory_id, score in kept.items()]


def cut(
    candidates: Sequence[Candidate], depth: int, *, is_strong: Callable[[str], bool]
) -> list[Candidate]:
    """The best of a list: up to its ``depth``-th strong one, so no weak one takes its place."""
    kept: list[Candidate] = []
    for candidate in candidates:
        if depth <= 0:
            break
        kept.append(candidate)
        depth -= is_strong(candidate.id)
    return kept


def in_order(scores: Mapping[str, float]) -> list[Candidate]:
    """Candidates by falling score; the id decides between equals, so an order is repeatable."""
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return [Candidate(id=memory_id, score=score) for memory_id, score in ranked]


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[str]], *, k: int = RRF_K
) -> dict[str, float]:
    """Score each id by summing ``1 / (k + rank)`` over the lists that hold it.

    Args:
        rankings: lists of ids, best first; rank starts at 1. Only an id's first place counts.
        k: damping constant, in ranks.
    Raises: ValueError if ``k`` is negative.
    Source: Cormack, Clarke & Buettcher, SIGIR 2009.
    """
    if k < 0:
        raise ValueError("k must not be negative")
    scores: dict[str, float] = defaultdict(float)
    for ranking in rankings:
        for rank, memory_id in enumerate(dict.fromkeys(ranking), start=1):
            scores[memory_id] += 1 / (k + rank)
    return dict(scores)


def highest_score(scores_by_store: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The best score any store gives an id."""
    best: dict[str, float] = {}
    for scores in scores_by_store.values():
        for memory_id, score in scores.items():
            best[memory_id] = max(score, best.get(memory_id, score))
    return best


def weighted_sum(
    scores_by_store: Mapping[str, Mapping[str, float]], weights: Mapping[str, float]
) -> dict[str, float]:
    """Sum of weight times raw score. Not normalised, as the protocol says."""
    total: dict[str, float] = defaultdict(float)
    for store, scores in scores_by_store.items():
        for memory_id, score in scores.items():
            total[memory_id] += weights.get(store, 1.0) * score
    return dict(total)


def combine_legs(
    similarities: Mapping[str, float],
    text_scores: Mapping[str, float],
    *,
    text_share: float = TEXT_SHARE,
) -> dict[str, float]:
    """One score in [0, 1] per id from a store's two legs.

    Text scores have no fixed range, so each is divided by the best one of the query; similarities
    already lie in [0, 1] and stay as they are. The score is the mean of both, weighted by
    ``text_share``; an id that a leg does not know gets 0 from it. If a leg is empty altogether
    (no embedder, or nothing but stop words in the query) the other one decides alone.

    Scores rather than ranks are combined because a rank forgets how much better the first is.
    """
    relative = _relative_to_best(text_scores)
    if not relative:
        return dict(similarities)
    if not similarities:
        return relative
    return {
        memory_id: (1 - text_share) * similarities.get(memory_id, 0.0)
        + text_share * relative.get(memory_id, 0.0)
        for memory_id in similarities.keys() | relative.keys()
    }


def estimate(similarity: float, query: Collection[str], words: Collection[str]) -> float:
    """What ``combine_legs`` might say of a memory that no text index holds yet.

    Args:
        similarity: in [0, 1].
        query: the query's words; none of them means that only the vector counts.
        words: the memory's words.
    """
    if not query:
        return similarity
    found = sum(word in words for word in query) / len(query)
    return (1 - TEXT_SHARE) * similarity + TEXT_SHARE * found


def add_context(
    scores: Mapping[str, float], neighbours: Mapping[str, Neighbours]
) -> dict[str, float]:
    """Raise episodes that stand beside a good match, as an answer stands after its question.

    What counts of a neighbour is its lead over the least of ``scores``, so an unrelated one adds
    nothing. The part of the way to 1 that an episode moves up grows with it: scores stay in [0, 1]
    and nobody passes a perfect match.

    Args:
        scores: id to score in [0, 1].
        neighbours: for episodes only; ids that are not in ``scores`` add nothing.
    """
    least = min(scores.values(), default=0.0)

    def lead(memory_id: str | None) -> float:
        return scores.get(memory_id, least) - least if memory_id is not None else 0.0

    def beside(memory_id: str | None) -> Neighbours:
        return neighbours.get(memory_id or "", _ALONE)

    raised = dict(scores)
    for memory_id, near in neighbours.items():
        lent = (
            FROM_BEFORE * lead(near.before)
            + FROM_AFTER * lead(near.after)
            + FROM_SECOND_BEFORE * lead(beside(near.before).before)
            + FROM_SECOND_AFTER * lead(beside(near.after).after)
        )
        raised[memory_id] += (1 - scores[memory_id]) * min(1.0, lent)
    return raised


def _relative_to_best(scores: Mapping[str, float]) -> dict[str, float]:
    best = max(scores.values(), default=0.0)
    if best <= 0:
        return dict.fromkeys(scores, 0.0)
    return {memory_id: max(0.0, score / best) for memory_id, score in scores.items()}


def _scores_by_store(
    rankings: Mapping[str, Sequence[Candidate]],
) -> dict[str, dict[str, float]]:
    # Read backwards so that of a repeated id its first, best score stays.
    return {
        store: {candidate.id: candidate.score for candidate in reversed(ranking)}
        for store, ranking in rankings.items()
    }
