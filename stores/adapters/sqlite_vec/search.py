"""Ranking a scope's visible memories for a query, in SQL.

Everything that narrows a search is part of its SQL: nothing is cut to the nearest k first and
filtered afterwards, so no other agent's rows can starve a result.

sqlite-vec's index answers for a whole agent, or a user of it, up to 4,096 neighbours. A search
within given ids, or for more neighbours, measures every such row instead: exact too, and as fast
for the few thousand ids it is meant for.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import apsw

from stores import fusion
from stores.adapters.sqlite_vec import codec
from stores.protocol import Candidate, SearchResult
from stores.search_query import CONTEXT_DEPTH, SearchQuery
from stores.words import Term, query_terms

INDEX_LIMIT: Final = 4_096  # sqlite-vec refuses more neighbours


def run(connection: apsw.Connection, query: SearchQuery) -> SearchResult:
    """The ``limit`` best memories of the scope, and whether there are no more.

    Memories that neither leg reaches (no vector, none of the words) follow with score 0, newest
    first: a store that has ``limit`` visible memories always offers as many.
    """
    text_scores = _text_scores(connection, query)
    similarities = _similarities(connection, query, also=text_scores)
    scores = fusion.combine_legs(similarities, text_scores)
    best = [candidate.id for candidate in fusion.in_order(scores)[:CONTEXT_DEPTH]]
    ranked = fusion.in_order(fusion.add_context(scores, _neighbours(connection, query, best)))
    if len(ranked) <= query.limit:
        ranked += _unranked(connection, query, known=ranked)
    return SearchResult(candidates=ranked[: query.limit], exhausted=len(ranked) <= query.limit)


# --- the vector leg ------------------------------------------------------------------------------


def _similarities(
    connection: apsw.Connection, query: SearchQuery, *, also: Mapping[str, float]
) -> dict[str, float]:
    """Id to similarity in [0, 1]: of the nearest ``depth`` ones, and of those in ``also``."""
    if query.vector is None:
        return {}
    vector = codec.vector_bytes(query.vector)
    find = _nearest if _fits_index(query) else _measured
    near = find(connection, query, vector)
    missing = also.keys() - near.keys()
    return near | _measured(connection, query, vector, only=missing) if missing else near


def _index_depth(query: SearchQuery) -> int:
    """How many neighbours to take so that ``depth`` are left without the excluded ones."""
    return query.depth + len(query.exclude)


def _fits_index(query: SearchQuery) -> bool:
    return query.within is None and _index_depth(query) <= INDEX_LIMIT


def _nearest(connection: apsw.Connection, query: SearchQuery, vector: bytes) -> dict[str, float]:
    scope = query.scope
    user_condition = "" if scope.user_id is None else "AND user_key = :user_key"
    rows = connection.execute(
        f"""
        WITH near AS MATERIALIZED (
            SELECT rowid, distance FROM memory_vector
            WHERE embedding MATCH :vector AND k = :depth AND shelf = :shelf {user_condition}
        )
        SELECT memory.id, near.distance FROM near CROSS JOIN memory ON memory.rowid = near.rowid
        WHERE {_visible(query)}
        """,
        _bindings(query)
        | {
            "vector": vector,
            "depth": _index_depth(query),
            "shelf": codec.shelf(query.workspace, scope.agent_id),
            "user_key": codec.user_key(scope.user_id),
        },
    )
    return _as_similarities(rows)


def _measured(
    connection: apsw.Connection,
    query: SearchQuery,
    vector: bytes,
    *,
    only: Collection[str] | None = None,
) -> dict[str, float]:
    """Without the index: the distance of every row asked about, or of those in ``only``.

    ``only`` are ids that the query may see.
    """
    ids = query.within if only is None else only
    # CROSS JOIN keeps the order: given ids are looked up one by one, not the whole scope read.
    rows = connection.execute(
        f"""
        SELECT memory.id, vec_distance_cosine(memory_vector.embedding, :vector) AS distance
        FROM {"memory" if ids is None else _LOOKED_UP}
        CROSS JOIN memory_vector ON memory_vector.rowid = memory.rowid
        WHERE {_visible(query)}
        ORDER BY distance LIMIT :depth
        """,
        _bindings(query)
        | {
            "vector": vector,
            # Ids made one after another lie side by side in the file, so read them in order.
            "ids": json.dumps(sorted(ids or ())),
            "depth": query.depth if only is None else -1,
        },
    )
    return _as_similarities(rows)


_LOOKED_UP: Final = """
    json_each(:ids) AS wanted CROSS JOIN memory
    ON memory.workspace = :workspace AND memory.id = wanted.value
"""


def _as_similarities(rows: Iterable[tuple[str, float]]) -> dict[str, float]:
    # A cosine distance lies in [0, 2]; rounding may leave that range by a hair.
    return {memory_id: min(1.0, max(0.0, 1 - distance / 2)) for memory_id, distance in rows}


# --- the text leg --------------------------------------------------------------------------------


def _text_scores(connection: apsw.Connection, query: SearchQuery) -> dict[str, float]:
    """Id to BM25, higher is better, of the ``depth`` best matches.

    FTS5 knows how rare a word is in the whole file, so that what others wrote would move an agent's
    ranking. So each word is asked for by itself, brought to the same scale, and weighted by how
    rare it is among the agent's own memories.
    """
    terms = query_terms(query.text)
    if not terms:
        return {}
    shelf = codec.shelf(query.workspace, query.scope.agent_id)
    hits = " UNION ALL ".join(
        f"SELECT {number}, rowid, -bm25(memory_text, 0.0, 1.0)"
        f" FROM memory_text WHERE memory_text MATCH :term{number}"
        for number in range(len(terms))
    )
    rows = connection.execute(
        f"""
        WITH hit (term, rowid, score) AS MATERIALIZED ({hits}),
        shelf (size) AS (
            SELECT count(*) FROM memory
            WHERE workspace = :workspace AND agent_id = :agent_id AND is_visible
        ),
        weight (term, factor) AS MATERIALIZED (
            SELECT term, ln(1 + (max(size, count(*)) - count(*) + 0.5) / (count(*) + 0.5))
                / avg(score)
            FROM hit CROSS JOIN shelf GROUP BY term
        )
        SELECT memory.id, sum(score * factor) AS total
        FROM hit CROSS JOIN weight USING (term) CROSS JOIN memory ON memory.rowid = hit.rowid
        WHERE {_visible(query)} {_among_given(query)}
        GROUP BY memory.rowid ORDER BY total DESC, memory.id LIMIT :depth
        """,
        _bindings(query)
        | {"depth": query.depth}
        | {f"term{number}": _match(shelf, term) for number, term in enumerate(terms)},
    )
    return dict(rows)


def _match(shelf: int, term: Term) -> str:
    """An FTS5 query. Terms hold letters and digits only, and quoting keeps even those inert."""
    return f'shelf:"{shelf}" AND words:"{term.text}"{"*" if term.is_prefix else ""}'


# --- the context ---------------------------------------------------------------------------------

_EPISODES: Final = """
    SELECT other.id FROM memory AS other
    WHERE other.workspace = memory.workspace AND other.agent_id = memory.agent_id
    AND other.user_id IS memory.user_id AND other.is_visible AND other.type = 'episodic'
"""
_EARLIER: Final = """
    AND (other.created_at, other.id) < (memory.created_at, memory.id) {near}
    ORDER BY other.created_at DESC, other.id DESC LIMIT 1
"""
_LATER: Final = """
    AND (other.created_at, other.id) > (memory.created_at, memory.id) {near}
    ORDER BY other.created_at, other.id LIMIT 1
"""
# Not null in its own words too, so that the index of sessions is known to fit.
_IN_SESSION: Final = "AND other.session = memory.session AND other.session IS NOT NULL"
_NEIGHBOURS: Final = f"""
    SELECT memory.id,
        coalesce(
            ({_EPISODES} {_EARLIER.format(near=_IN_SESSION)}),
            ({_EPISODES} {_EARLIER.format(near="AND other.created_at >= memory.created_at - :gap")})
        ),
        coalesce(
            ({_EPISODES} {_LATER.format(near=_IN_SESSION)}),
            ({_EPISODES} {_LATER.format(near="AND other.created_at <= memory.created_at + :gap")})
        )
    FROM json_each(:ids) AS wanted CROSS JOIN memory
    ON memory.workspace = :workspace AND memory.id = wanted.value
    WHERE memory.type = 'episodic'
"""


def _neighbours(
    connection: apsw.Connection, query: SearchQuery, ids: Iterable[str]
) -> dict[str, fusion.Neighbours]:
    """The episodes among ``ids``, each with those of the same user just before and after it."""
    rows = connection.execute(
        _NEIGHBOURS,
        {
            "workspace": query.workspace,
            "ids": json.dumps(sorted(ids)),
            "gap": fusion.NEIGHBOUR_GAP_MS,
        },
    )
    return {memory_id: fusion.Neighbours(before, after) for memory_id, before, after in rows}


# --- the rest ------------------------------------------------------------------------------------


def _unranked(
    connection: apsw.Connection, query: SearchQuery, *, known: Iterable[Candidate]
) -> list[Candidate]:
    known_ids = [candidate.id for candidate in known]
    rows = connection.execute(
        f"""
        SELECT memory.id FROM memory
        WHERE {_visible(query)} {_among_given(query)}
        AND memory.id NOT IN (SELECT value FROM json_each(:known))
        ORDER BY memory.rowid DESC LIMIT :room
        """,
        _bindings(query)
        | {"known": json.dumps(known_ids), "room": query.limit - len(known_ids) + 1},
    )
    return [Candidate(id=memory_id, score=0.0) for (memory_id,) in rows]


def _visible(query: SearchQuery) -> str:
    """The condition every part of a search carries, beside that of ``within``."""
    conditions = [
        "memory.workspace = :workspace",
        "memory.agent_id = :agent_id",
        "memory.is_visible",
    ]
    if query.scope.user_id is not None:
        conditions.append("memory.user_id = :user_id")
    if query.exclude:
        conditions.append("memory.id NOT IN (SELECT value FROM json_each(:exclude))")
    return " AND ".join(conditions)


def _among_given(query: SearchQuery) -> str:
    return "" if query.within is None else "AND memory.id IN (SELECT value FROM json_each(:within))"


def _bindings(query: SearchQuery) -> dict[str, Any]:
    return {
        "workspace": query.workspace,
        "agent_id": query.scope.agent_id,
        "user_id": query.scope.user_id,
        "within": json.dumps(list(query.within or ())),
        "exclude": json.dumps(list(query.exclude)),
    }
