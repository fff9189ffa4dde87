"""Recall: stores rank, the ledger answers.

A store's candidate counts only if the ledger shows it as visible for this workspace, agent, user,
types, filter and freshness at this moment; the text that is answered is the ledger's. So a store
may lag, fail or lie: it can misrank, it cannot inject, leak or resurrect.
"""

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from django.conf import settings
from django.db.models import F

from governance import execution, fusing, gate, metrics, recall_tracking, stores_runtime, walls
from governance.embedding import EmbeddedText, embed
from governance.filter_sql import narrowing
from governance.fusing import LEDGER, Ranking
from governance.gate import Call
from governance.models import Delivery, Memory, MemoryVector, Scope
from governance.models.memory import MemoryQuerySet
from stores import filters, fusion, words
from stores.protocol import Candidate, Replica, SearchResult
from stores.protocol import Scope as SearchScope
from stores.wire import MemoryRecord, RecallRequest, RecallResponse

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


async def recall(call: Call, request: RecallRequest) -> RecallResponse:
    """The k best visible memories.

    Raises: NotAllowed, Invalid (a filter that cannot be read).
    """
    started = time.perf_counter()
    await gate.check(call, Scope.RECALL, request.agent_id)
    question = Question(call=call, request=request, condition=gate.parse_filter(request.filter))
    text, field = await asyncio.gather(embed(request.query), execution.read(_survey, question))
    rankings, memories = await _rank(question, field, text)
    around = await _around(question, field, memories) if request.hops > 1 else []
    hits = fusing.hits(request, rankings, memories, around=around)
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
    walls.enter(question.call.workspace_id)
    limit = settings.ENVIRONMENT.within_limit
    memories: dict[str, Memory] | None = None
    if question.condition is None:
        ids = list(question.visible().values_list("pk", flat=True)[: limit + 1])
        if len(ids) <= min(limit, _READ_AT_ONCE):
            memories = _check_with_ledger(question, ids)
    else:
        rows = question.visible().iterator(chunk_size=500)
        found = {memory.pk: memory for memory in rows if question.passes(memory)}
        ids = list(found)
        if len(ids) <= _READ_AT_ONCE:
            memories = found
    lagging = Delivery.objects.filter(
        workspace_id=question.call.workspace_id,
        agent_id=question.request.agent_id,
        delivered_version__lt=F("wanted_version"),
    ).values_list("memory_id", flat=True)
    return Field(
        ids=frozenset(ids) if len(ids) <= limit else None,
        lagging=frozenset(lagging),
        memories=memories,
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
    """Ask every store at once, each within the budget; one that does not answer is left out."""
    scope = SearchScope(agent_id=question.request.agent_id, user_id=question.request.user_id)
    search = partial(
        _search, scope=scope, query=question.request.query, text=text, limit=limit, field=field
    )
    answers = await stores_runtime.fan_out().ask(
        {
            replica.name: partial(search, replica)
            for replica in await stores_runtime.replicas(question.call.workspace_id)
        },
        budget_seconds=settings.ENVIRONMENT.recall_budget_ms / 1000,
    )
    for answer in answers:
        metrics.store_search_seconds.labels(answer.store, answer.outcome.value).observe(
            answer.seconds
        )
    return [
        Ranking(
            source=answer.store,
            candidates=fusion.sane(answer.value.candidates, limit=limit),
            exhausted=answer.value.exhausted,
        )
        for answer in answers
        if answer.value is not None
    ]


async def _search(
    replica: Replica,
    *,
    scope: SearchScope,
    query: str,
    text: EmbeddedText,
    limit: int,
    field: Field,
) -> SearchResult:
    return await replica.search(
        scope, text=query, vector=text.vector, limit=limit, within=field.ids
    )


async def _check(question: Question, field: Field, ids: Collection[str]) -> dict[str, Memory]:
    """Those of the offered ids that may be answered."""
    if field.memories is None:
        return await execution.read(_check_with_ledger, question, ids)
    return {pk: memory for pk, memory in field.memories.items() if pk in ids}


def _check_with_ledger(question: Question, ids: Collection[str]) -> dict[str, Memory]:
    """Those of the offered ids that may be answered; one query."""
    walls.enter(question.call.workspace_id)
    rows = question.visible().filter(pk__in=ids)
    return {memory.pk: memory for memory in rows if question.passes(memory)}


async def _around(
    question: Question, field: Field, memories: dict[str, Memory]
) -> list[MemoryRecord]:
    """What may lie between two hits: all that is visible, or, where that is much, what was offered.

    At most one query, and none where the survey read everything.
    """
    if field.memories is not None:
        known = field.memories
    elif field.ids is not None:
        unread = field.ids - memories.keys()
        known = memories | await execution.read(_check_with_ledger, question, unread)
    else:
        known = memories
    return [memory.as_record() for memory in known.values()]


def _rank_in_ledger(
    question: Question, text: EmbeddedText, wanted: Collection[str] | None, seen: Collection[str]
) -> tuple[Ranking, dict[str, Memory]]:
    """Rank by the ledger's own texts and vectors: ``wanted`` ids, or all visible but the ``seen``.

    What the stores ranked is not ranked again: fusion would count it twice.
    """
    walls.enter(question.call.workspace_id)
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
    scored.sort(key=lambda found: (-found.score * fusing.weight(memories[found.id]), found.id))
    best = scored[: max(question.request.k, len(wanted or ()))]
    best.sort(key=lambda found: (-found.score, found.id))
    kept = {candidate.id: memories[candidate.id] for candidate in best}
    return Ranking(source=LEDGER, candidates=best), kept


def _estimate(memory: Memory, data: bytes, text: EmbeddedText, terms: Sequence[str]) -> float:
    similarity = float(np.frombuffer(data, dtype="<f4") @ text.vector + 1) / 2
    return fusion.estimate(similarity, terms, set(words.index_text(memory.content).split()))
