"""Recall: stores rank, the ledger answers.

A store's candidate counts only if the ledger shows it as visible for this workspace, agent, user,
types, filter and freshness at this moment; the text that is answered is the ledger's. So a store
may lag, fail or lie: it can misrank, it cannot inject, leak or resurrect.
"""

import asyncio
import logging
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from django.conf import settings
from django.db.models import F

from governance import execution, gate, metrics, recall_tracking, stores_runtime
from governance.embedding import EmbeddedText, embed
from governance.filter_sql import narrowing
from governance.gate import Call
from governance.models import Delivery, Memory, MemoryVector, Scope
from governance.models.memory import MemoryQuerySet
from stores import filters, fusion, procedures, words
from stores.errors import StoreError
from stores.protocol import Candidate, Replica, SearchResult
from stores.protocol import Scope as SearchScope
from stores.wire import MemoryType, RecallHit, RecallRequest, RecallResponse

log = logging.getLogger(__name__)

LEDGER = "ledger"
"""The name under which the ledger's own ranking appears as ``source_store``."""

_FIRST_LIMIT = 50
_READ_AT_ONCE = 64  # as many rows as a store's first answer is checked against anyway
_LIMIT_GROWTH = 4
_LIMIT_MAX = 4_096
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, of whom, and what is visible to the answer."""

    call: Call
    request: RecallRequest
    condition: filters.Filter | None

    def visible(self) -> MemoryQuerySet:
        """Everything the answer may contain; with a filter, some more: see ``passes``."""
        request, now_ms = self.request, self.call.now_ms
        rows = Memory.objects.of(self.call.workspace_id, request.agent_id, request.user_id)
        rows = rows.visible(now_ms=now_ms)
        if request.types is not None:
            rows = rows.filter(type__in=[kind.value for kind in request.types])
        if request.fresher_than_days is not None:
            rows = rows.filter(created_at__gte=now_ms - request.fresher_than_days * _DAY_MS)
        if self.condition is not None:
            rows = rows.filter(narrowing(self.condition))
        return rows

    def passes(self, memory: Memory) -> bool:
        return self.condition is None or filters.matches(self.condition, memory.as_record())


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What there is to rank. ``ids`` None: too many to name."""

    ids: frozenset[str] | None
    lagging: frozenset[str]
    """Visible, and not yet known to be at every store."""
    memories: dict[str, Memory] | None
    """All that is visible, where it is so little that it was read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """One source's candidates, best first."""

    source: str
    candidates: Sequence[Candidate]
    exhausted: bool = True


async def recall(call: Call, request: RecallRequest) -> RecallResponse:
    """The k best visible memories.

    Raises: NotAllowed, Invalid (a filter that cannot be read).
    """
    started = time.perf_counter()
    await gate.check(call, Scope.RECALL, request.agent_id)
    question = Question(call=call, request=request, condition=gate.parse_filter(request.filter))
    text, field = await asyncio.gather(embed(request.query), execution.read(_survey, question))
    rankings, memories = await _rank(question, field, text)
    hits = _hits(request, rankings, memories)
    recall_tracking.note((hit.id for hit in hits), now_ms=call.now_ms)
    metrics.operations.labels("recall", "answered").inc()
    return RecallResponse(
        results=hits,
        fusion_used=request.fusion,
        stores_queried=[ranking.source for ranking in rankings if ranking.source != LEDGER],
        latency_ms=int((time.perf_counter() - started) * 1000),
    )


def _survey(question: Question) -> Field:
    """Name what is visible if it is little enough, and read it if it is very little.

    Two or three queries, while the model works. What was visible when the recall came in may be
    answered: whatever changes meanwhile changes at the same time as the recall.
    """
    limit = settings.ENVIRONMENT.within_limit
    if question.condition is None:
        ids = list(question.visible().values_list("pk", flat=True)[: limit + 1])
        memories = _check_with_ledger(question, ids) if len(ids) <= _READ_AT_ONCE else None
    else:
        rows = question.visible().iterator(chunk_size=500)
        memories = {memory.pk: memory for memory in rows if question.passes(memory)}
        ids = list(memories)
    lagging = Delivery.objects.filter(
        workspace_id=question.call.workspace_id,
        agent_id=question.request.agent_id,
        delivered_version__lt=F("wanted_version"),
    ).values_list("memory_id", flat=True)
    return Field(
        ids=frozenset(ids) if len(ids) <= limit else None,
        lagging=frozenset(lagging),
        memories=memories if len(ids) <= _READ_AT_ONCE else None,
    )


async def _rank(
    question: Question, field: Field, text: EmbeddedText
) -> tuple[list[Ranking], dict[str, Memory]]:
    """Ask the stores, keep what the ledger shows as visible, and complete to k from the ledger.

    Enough are k that are not demoted: whatever lies further down scores less than each of them.
    """
    k = question.request.k
    limit = max(_FIRST_LIMIT, 2 * k)
    while True:
        rankings = await stores_runtime.on_loop(_fan_out(question, field, text, limit))
        offered = {c.id for ranking in rankings for c in ranking.candidates}
        memories = await _check(question, field, offered)
        enough = sum(memory.demoted_at is None for memory in memories.values()) >= k
        if enough or limit >= _LIMIT_MAX or all(ranking.exhausted for ranking in rankings):
            break
        limit = min(limit * _LIMIT_GROWTH, _LIMIT_MAX)
    # Short of k, whatever no store offered counts; otherwise only what stores may not have yet.
    unseen = field.lagging if enough else field.ids
    wanted = None if unseen is None else unseen - memories.keys()
    if wanted is None or wanted:
        ranking, found = await execution.read(
            _rank_in_ledger, question, text, wanted, memories.keys()
        )
        rankings.append(ranking)
        memories |= found
    return rankings, memories


async def _fan_out(
    question: Question, field: Field, text: EmbeddedText, limit: int
) -> list[Ranking]:
    """Ask every store at once, each within the budget; one that fails is left out."""
    replicas = await stores_runtime.replicas(question.call.workspace_id)
    answers = await asyncio.gather(
        *(_ask(replica, question, field, text, limit) for replica in replicas),
        return_exceptions=True,
    )
    rankings = []
    for replica, answer in zip(replicas, answers, strict=True):
        if isinstance(answer, StoreError | TimeoutError):
            log.warning("recall without store %s: %s", replica.name, type(answer).__name__)
        elif isinstance(answer, BaseException):
            raise answer
        else:
            rankings.append(
                Ranking(
                    source=replica.name,
                    candidates=answer.candidates,
                    exhausted=answer.exhausted,
                )
            )
    return rankings


async def _ask(
    replica: Replica, question: Question, field: Field, text: EmbeddedText, limit: int
) -> SearchResult:
    started, outcome = time.perf_counter(), "failed"
    try:
        async with asyncio.timeout(settings.ENVIRONMENT.recall_budget_ms / 1000):
            found = await replica.search(
                SearchScope(agent_id=question.request.agent_id, user_id=question.request.user_id),
                text=question.request.query,
                vector=text.vector,
                limit=limit,
                within=field.ids,
            )
        outcome = "answered"
        return found
    finally:
        seconds = time.perf_counter() - started
        metrics.store_search_seconds.labels(replica.name, outcome).observe(seconds)


async def _check(question: Question, field: Field, ids: Collection[str]) -> dict[str, Memory]:
    """Those of the offered ids that may be answered."""
    if field.memories is None:
        return await execution.read(_check_with_ledger, question, ids)
    return {pk: memory for pk, memory in field.memories.items() if pk in ids}


def _check_with_ledger(question: Question, ids: Collection[str]) -> dict[str, Memory]:
    """Those of the offered ids that may be answered; one query."""
    rows = question.visible().filter(pk__in=ids)
    return {memory.pk: memory for memory in rows if question.passes(memory)}


def _rank_in_ledger(
    question: Question, text: EmbeddedText, wanted: Collection[str] | None, seen: Collection[str]
) -> tuple[Ranking, dict[str, Memory]]:
    """Rank by the ledger's own texts and vectors: ``wanted`` ids, or all visible but the ``seen``.

    What the stores ranked is not ranked again: fusion would count it twice.
    """
    rows = question.visible()
    if wanted is not None:
        rows = rows.filter(pk__in=wanted)
    memories = {
        memory.pk: memory for memory in rows if memory.pk not in seen and question.passes(memory)
    }
    vectors = dict(
        MemoryVector.objects.filter(memory__in=list(memories), model_id=text.model_id)
        .order_by("version_number")
        .values_list("memory_id", "data")
    )
    terms = [term.text for term in words.query_terms(question.request.query)]
    scored = [
        Candidate(id=pk, score=_estimate(memories[pk], bytes(data), text, terms))
        for pk, data in vectors.items()
    ]
    # The best as they will be answered; within the ranking, by what texts and vectors say.
    scored.sort(key=lambda found: (-found.score * _weight(memories[found.id]), found.id))
    best = scored[: max(question.request.k, len(wanted or ()))]
    best.sort(key=lambda found: (-found.score, found.id))
    kept = {candidate.id: memories[candidate.id] for candidate in best}
    return Ranking(source=LEDGER, candidates=best), kept


def _estimate(memory: Memory, data: bytes, text: EmbeddedText, terms: Sequence[str]) -> float:
    similarity = float(np.frombuffer(data, dtype="<f4") @ text.vector + 1) / 2
    return fusion.estimate(similarity, terms, set(words.index_text(memory.content).split()))


def _hits(
    request: RecallRequest, rankings: Sequence[Ranking], memories: dict[str, Memory]
) -> list[RecallHit]:
    """Fuse what is left of each ranking and answer with the ledger's text."""
    checked = {
        ranking.source: [c for c in ranking.candidates if c.id in memories] for ranking in rankings
    }
    source: dict[str, str] = {}
    for name, candidates in checked.items():
        for candidate in candidates:
            source.setdefault(candidate.id, name)
    scores = {
        hit.id: hit.score * _weight(memories[hit.id])
        for hit in fusion.fuse(request.fusion, _in_one_list(checked))
    }
    best = fusion.in_order(scores)[: request.k]
    return [_hit(memories[hit.id], hit.score, source[hit.id]) for hit in best]


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


def _weight(memory: Memory) -> float:
    return 1.0 if memory.demoted_at is None else settings.ENVIRONMENT.demotion_factor


def _hit(memory: Memory, score: float, source: str) -> RecallHit:
    return RecallHit.model_construct(
        id=memory.pk,
        type=MemoryType(memory.type),
        content=procedures.as_answered(MemoryType(memory.type), memory.content),
        score=score,
        metadata=memory.metadata,
        created_at=memory.created_at,
        supporting=[],
        source_store=source,
    )
