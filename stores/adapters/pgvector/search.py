"""Ranking a scope's visible memories for a query, in SQL.

A scope of few memories, or a search within given ids, is measured row by row: exact, and found by
an index on the agent. Of many, pgvector's index offers the nearest; it goes on until enough of the
scope's own are found, and where it still comes up short every row is measured after all.

Words are scored by BM25. How often a word comes up in one memory counts less than PostgreSQL's own
``ts_rank`` would have it, and how rare it is in the scope, which that does not know, counts most.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from pgvector import Vector as PgVector

from stores import fusion
from stores.adapters.pgvector import schema
from stores.protocol import Candidate, SearchResult
from stores.search_query import CONTEXT_DEPTH, SearchQuery
from stores.words import plain, query_terms

#: Up to so many visible memories a scope is measured whole: some 5 ms for 384 dimensions.
EXACT_ROWS_MAX: Final = 5_000
#: How many rows pgvector's index holds in view at once: at least so many, and twice the limit.
EF_SEARCH_MIN: Final = 100
EF_SEARCH_MAX: Final = 1_000  # pgvector takes no more
#: BM25's usual constants, those of SQLite's FTS5 too.
BM25_K: Final = 1.2
BM25_B: Final = 0.75
#: What ``ts_rank`` gives for a word that comes up once.
RANK_OF_ONE: Final = 0.06079271


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """What a first look says: how much there is to rank, and what the words are called here."""

    visible: int
    """Counted up to ``EXACT_ROWS_MAX + 1``."""
    rows: float
    """An estimate of the visible memories, where they are more."""
    terms: Sequence[str]

    @property
    def is_small(self) -> bool:
        return self.visible <= EXACT_ROWS_MAX


async def run(connection: psycopg.AsyncConnection, query: SearchQuery) -> SearchResult:
    """The ``limit`` best memories of the scope, and whether there are no more.

    Memories that neither leg reaches (no vector, none of the words) follow with score 0, newest
    first: a store that has ``limit`` visible memories always offers as many.
    """
    scope = await _survey(connection, query)
    text_scores = await _text_scores(connection, query, scope)
    similarities = await _similarities(connection, query, scope, also=text_scores)
    scores = fusion.combine_legs(similarities, text_scores)
    best = [candidate.id for candidate in fusion.in_order(scores)[:CONTEXT_DEPTH]]
    neighbours = await _neighbours(connection, query, best)
    ranked = fusion.in_order(fusion.add_context(scores, neighbours))
    if len(ranked) <= query.limit:
        ranked += await _unranked(connection, query, known=ranked)
    return SearchResult(candidates=ranked[: query.limit], exhausted=len(ranked) <= query.limit)


async def _survey(connection: psycopg.AsyncConnection, query: SearchQuery) -> _Scope:
    words = [plain(term.text) for term in query_terms(query.text)]
    rows = await _fetch(
        connection,
        f"""
        SELECT
            (SELECT count(*) FROM
                (SELECT FROM {_table(query)} WHERE {_visible(query)} LIMIT %(most)s) AS counted),
            (SELECT reltuples FROM pg_class WHERE oid = %(table)s::regclass),
            ARRAY(SELECT DISTINCT term(word) FROM unnest(%(words)s::text[]) AS word),
            set_config('hnsw.ef_search', %(ef_search)s, true)
        """,
        query,
        most=EXACT_ROWS_MAX + 1,
        table=schema.partition(query.workspace),
        words=words,
        ef_search=str(min(EF_SEARCH_MAX, max(EF_SEARCH_MIN, 2 * query.limit))),
    )
    visible, estimate, terms, _ = rows[0]
    return _Scope(visible=visible, rows=max(visible, estimate), terms=terms)


# --- the vector leg ------------------------------------------------------------------------------


async def _similarities(
    connection: psycopg.AsyncConnection,
    query: SearchQuery,
    scope: _Scope,
    *,
    also: Mapping[str, float],
) -> dict[str, float]:
    """Id to similarity in [0, 1]: of the nearest ``depth`` ones, and of those in ``also``."""
    if query.vector is None:
        return {}
    near: dict[str, float] = {}
    if query.within is None and not scope.is_small:
        near = await _nearest(connection, query)
    if len(near) < query.depth:
        near = await _measured(connection, query)
    missing = also.keys() - near.keys()
    return near | await _measured(connection, query, only=missing) if missing else near


async def _nearest(connection: psycopg.AsyncConnection, query: SearchQuery) -> dict[str, float]:
    """By the index, if the planner does not know better: an approximation."""
    rows = await _fetch(
        connection,
        f"""
        SELECT id, embedding <=> %(vector)s FROM {_table(query)}
        WHERE {_visible(query)} AND embedding IS NOT NULL
        ORDER BY embedding <=> %(vector)s LIMIT %(depth)s
        """,
        query,
    )
    return _as_similarities(rows)


async def _measured(
    connection: psycopg.AsyncConnection,
    query: SearchQuery,
    *,
    only: Collection[str] | None = None,
) -> dict[str, float]:
    """Without the index: the distance of every row asked about, or of those in ``only``."""
    among = _among_given(query) if only is None else "AND id = ANY(%(only)s)"
    rows = await _fetch(
        connection,
        # OFFSET keeps the order out of the inner query, so that no index can answer it.
        f"""
        SELECT id, distance FROM (
            SELECT id, embedding <=> %(vector)s AS distance FROM {_table(query)}
            WHERE {_visible(query)} {among} AND embedding IS NOT NULL OFFSET 0
        ) AS measured
        ORDER BY distance LIMIT %(most)s
        """,
        query,
        only=list(only or ()),
        most=query.depth if only is None else None,
    )
    return _as_similarities(rows)


def _as_similarities(rows: Iterable[tuple[Any, ...]]) -> dict[str, float]:
    # A cosine distance lies in [0, 2]; rounding may leave that range by a hair.
    return {memory_id: min(1.0, max(0.0, 1 - distance / 2)) for memory_id, distance in rows}


# --- the text leg --------------------------------------------------------------------------------


async def _text_scores(
    connection: psycopg.AsyncConnection, query: SearchQuery, scope: _Scope
) -> dict[str, float]:
    """Id to BM25, higher is better, of the ``depth`` best matches."""
    if not scope.terms:
        return {}
    rows = await _fetch(
        connection,
        f"""
        WITH matched AS MATERIALIZED (
            SELECT id, words, word_count, avg(word_count) OVER () AS usual_count
            FROM {_table(query)}
            WHERE words @@ %(any_term)s::tsquery AND {_visible(query)} {_among_given(query)}
        ), hit AS MATERIALIZED (
            SELECT id, term, ts_rank(words, term) / %(rank_of_one)s AS times,
                %(k)s * (1 - %(b)s + %(b)s * word_count / usual_count) AS dampening
            FROM matched JOIN unnest(%(terms)s::tsquery[]) AS term ON words @@ term
        ), rarity AS (
            SELECT term, ln(1 + (greatest(%(rows)s, count(*)) - count(*) + 0.5) / (count(*) + 0.5))
                AS weight
            FROM hit GROUP BY term
        )
        SELECT id, sum(weight * times * (%(k)s + 1) / (times + dampening)) AS score
        FROM hit JOIN rarity USING (term)
        GROUP BY id ORDER BY score DESC, id LIMIT %(depth)s
        """,
        query,
        any_term=" | ".join(scope.terms),
        terms=list(scope.terms),
        rows=float(scope.rows),
        rank_of_one=RANK_OF_ONE,
        k=BM25_K,
        b=BM25_B,
    )
    return {memory_id: float(score) for memory_id, score in rows}


# --- the context ---------------------------------------------------------------------------------


async def _neighbours(
    connection: psycopg.AsyncConnection, query: SearchQuery, ids: Sequence[str]
) -> dict[str, fusion.Neighbours]:
    """The episodes among ``ids``, each with those of the same user just before and after it."""
    episodes = f"""
        SELECT other.id FROM {_table(query)} AS other
        WHERE other.agent_id = memory.agent_id AND other.user_key = memory.user_key
        AND other.is_visible AND other.type = 'episodic'
    """
    earlier = "AND (other.created_at, other.id) < (memory.created_at, memory.id)"
    later = "AND (other.created_at, other.id) > (memory.created_at, memory.id)"
    latest = "ORDER BY other.created_at DESC, other.id DESC LIMIT 1"
    earliest = "ORDER BY other.created_at, other.id LIMIT 1"
    in_session = "AND other.session = memory.session"
    rows = await _fetch(
        connection,
        f"""
        SELECT memory.id,
            coalesce(
                ({episodes} {in_session} {earlier} {latest}),
                ({episodes} {earlier}
                AND other.created_at >= memory.created_at - %(gap)s {latest})
            ),
            coalesce(
                ({episodes} {in_session} {later} {earliest}),
                ({episodes} {later}
                AND other.created_at <= memory.created_at + %(gap)s {earliest})
            )
        FROM {_table(query)} AS memory
        WHERE memory.workspace = %(workspace)s AND memory.id = ANY(%(ids)s)
        AND memory.type = 'episodic'
        """,
        query,
        ids=list(ids),
        gap=fusion.NEIGHBOUR_GAP_MS,
    )
    return {memory_id: fusion.Neighbours(before, after) for memory_id, before, after in rows}


# --- the rest ------------------------------------------------------------------------------------


async def _unranked(
    connection: psycopg.AsyncConnection, query: SearchQuery, *, known: Sequence[Candidate]
) -> list[Candidate]:
    rows = await _fetch(
        connection,
        f"""
        SELECT id FROM {_table(query)}
        WHERE {_visible(query)} {_among_given(query)} AND id <> ALL(%(known)s)
        ORDER BY created_at DESC, id DESC LIMIT %(room)s
        """,
        query,
        known=[candidate.id for candidate in known],
        room=query.limit - len(known) + 1,
    )
    return [Candidate(id=memory_id, score=0.0) for (memory_id,) in rows]


def _table(query: SearchQuery) -> str:
    return schema.partition(query.workspace)


def _visible(query: SearchQuery) -> str:
    """The condition every part of a search carries, beside that of ``within``."""
    conditions = ["workspace = %(workspace)s", "agent_id = %(agent_id)s", "is_visible"]
    if query.scope.user_id is not None:
        conditions.append("user_id = %(user_id)s")
    if query.exclude:
        conditions.append("id <> ALL(%(exclude)s)")
    return " AND ".join(conditions)


def _among_given(query: SearchQuery) -> str:
    return "" if query.within is None else "AND id = ANY(%(within)s)"


async def _fetch(
    connection: psycopg.AsyncConnection, statement: str, query: SearchQuery, **bindings: Any
) -> list[tuple[Any, ...]]:
    usual = {
        "workspace": query.workspace,
        "agent_id": query.scope.agent_id,
        "user_id": query.scope.user_id,
        "within": list(query.within or ()),
        "exclude": list(query.exclude),
        "depth": query.depth,
        "vector": None if query.vector is None else PgVector(query.vector),
    }
    cursor = await connection.execute(statement, usual | bindings)
    return await cursor.fetchall()
