"""A workspace's memories in PostgreSQL."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import numpy as np
import psycopg
from pgvector import Vector as PgVector

from stores import rows
from stores.adapters.pgvector import database, schema, search
from stores.adapters.pgvector.address import Address
from stores.errors import StoreError, StoreRefused, StoreUnavailable
from stores.protocol import (
    Capability,
    Embedder,
    Health,
    ReplicaRecord,
    ScanPage,
    Scope,
    SearchResult,
    Vector,
)
from stores.rows import COLUMNS
from stores.search_query import SearchQuery
from stores.words import whole_words

#: Of more words a text keeps the first and the last ones: PostgreSQL's limit is 1 MB of terms.
WORDS_MAX: Final = 50_000

_COLUMNS: Final = ", ".join(COLUMNS)
_WRITTEN: Final = (*COLUMNS, "word_count", "words", "embedding")


class PgvectorReplica:
    """One workspace of a PostgreSQL database.

    Opening it connects to nothing: a database that is down, or was filled by another embedder, is
    reported by the first call.
    """

    name: Final = "pgvector"
    capabilities: Final = frozenset(Capability) - {Capability.GRAPH, Capability.GOVERNANCE}

    def __init__(self, address: Address, *, workspace: str, embedder: Embedder) -> None:
        self._address = address
        self._workspace = workspace
        self._table = schema.partition(workspace)
        self._model_id = embedder.model_id
        self._dimensions = embedder.dimensions
        self._database: database.Database | None = None
        self._is_closed = False

    async def put(self, records: Sequence[ReplicaRecord]) -> None:
        for state in records:
            if state.vector is not None and state.vector.shape != (self._dimensions,):
                raise StoreRefused(f"{state.record.id}: not a vector of {self._dimensions} numbers")
            if not -(2**63) <= state.version < 2**63:
                raise StoreRefused(f"{state.record.id}: the version does not fit 64 bits")
        statement = f"""
            INSERT INTO {self._table} AS held (workspace, {", ".join(_WRITTEN)})
            VALUES (%s{", %s" * len(COLUMNS)}, %s, terms(%s::text[]), %s)
            ON CONFLICT (workspace, id) DO UPDATE
            SET {", ".join(f"{column} = excluded.{column}" for column in _WRITTEN)}
            WHERE excluded.version > held.version
        """
        # In one order everywhere, so that two writers wait for each other and never in a circle.
        states = sorted(records, key=lambda state: (state.record.id, state.version))
        async with self._connection() as connection, connection.transaction():
            await connection.cursor().executemany(
                statement, [(self._workspace, *_written(state)) for state in states]
            )

    async def erase(self, versions: Mapping[str, int]) -> None:
        """See ``Replica``.

        No query finds a word of them any more, and the table's pages are tidied. What PostgreSQL
        may keep in the free space of a page until it is written over, ``compact`` removes; its
        write-ahead log and your backups have their own ends.
        """
        emptied = ", ".join(
            f"{column} = {'false' if column == 'is_visible' else 'NULL'}"
            for column in _WRITTEN
            if column not in ("id", "version")
        )
        statement = f"""
            INSERT INTO {self._table} AS held (workspace, id, version) VALUES (%s, %s, %s)
            ON CONFLICT (workspace, id) DO UPDATE SET version = excluded.version, {emptied}
            WHERE excluded.version >= held.version
        """
        async with self._connection() as connection:
            async with connection.transaction():
                await connection.cursor().executemany(
                    statement, [(self._workspace, *item) for item in sorted(versions.items())]
                )
            # Indexes hold digests and are left to autovacuum: theirs is the slow part.
            await connection.execute(f"VACUUM (INDEX_CLEANUP OFF) {self._table}")

    async def drop(self, ids: Collection[str]) -> None:
        async with self._connection() as connection, connection.transaction():
            await connection.execute(
                f"DELETE FROM {self._table} WHERE workspace = %s AND id = ANY(%s)",
                (self._workspace, list(ids)),
            )

    async def search(
        self,
        scope: Scope,
        *,
        text: str,
        vector: Vector | None,
        limit: int,
        within: Collection[str] | None = None,
        exclude: Collection[str] = (),
    ) -> SearchResult:
        query = SearchQuery(
            workspace=self._workspace,
            scope=scope,
            text=text,
            vector=vector,
            limit=limit,
            within=None if within is None else frozenset(within),
            exclude=frozenset(exclude),
        )
        async with self._connection() as connection, connection.transaction():
            return await search.run(connection, query)

    async def fetch(self, ids: Collection[str]) -> Sequence[ReplicaRecord]:
        return await self._select("AND id = ANY(%s)", list(ids))

    async def scan(self, *, cursor: str | None = None, limit: int = 500) -> ScanPage:
        # One more than asked for tells whether there is a next page.
        found = await self._select("AND id > %s ORDER BY id LIMIT %s", cursor or "", limit + 1)
        page = found[:limit]
        return ScanPage(
            records=page, cursor=page[-1].record.id if len(found) > limit and page else None
        )

    async def health(self) -> Health:
        try:
            async with self._connection() as connection:
                counted = await connection.execute(
                    f"SELECT count(*) FROM {self._table} WHERE is_visible"
                )
                (visible,) = await counted.fetchone() or (0,)
            return Health(ok=True, detail={"visible": visible})
        except StoreError as error:
            return Health(ok=False, detail={"error": type(error).__name__})

    async def compact(self) -> None:
        """Write the partition and its indexes anew. The workspace's searches wait meanwhile."""
        async with self._connection() as connection:
            await connection.execute(f"VACUUM (FULL) {self._table}")

    async def close(self) -> None:
        self._is_closed = True
        held, self._database = self._database, None
        if held is not None:
            await database.release(held)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[psycopg.AsyncConnection]:
        if self._is_closed:
            raise StoreUnavailable("pgvector: the store is closed")
        if self._database is None:
            self._database = database.acquire(
                self._address, model_id=self._model_id, dimensions=self._dimensions
            )
        async with self._database.connection(self._workspace) as connection:
            yield connection

    async def _select(self, condition: str, *bindings: Any) -> list[ReplicaRecord]:
        statement = f"""
            SELECT {_COLUMNS}, embedding FROM {self._table}
            WHERE workspace = %s AND record IS NOT NULL {condition}
        """
        async with self._connection() as connection:
            cursor = await connection.execute(statement, (self._workspace, *bindings), binary=True)
            return [rows.from_row(row, vector=_vector(row[-1])) for row in await cursor.fetchall()]


def _written(state: ReplicaRecord) -> tuple[Any, ...]:
    """The values of ``_WRITTEN``; instead of terms, the words to make them of."""
    words = _kept_words(state.record.content) if rows.is_visible(state) else []
    vector = None if state.vector is None else PgVector(state.vector)
    return (*rows.to_row(state), len(words), words, vector)


def _kept_words(content: str) -> list[str]:
    words = list(whole_words(content))
    if len(words) <= WORDS_MAX:
        return words
    distinct = list(dict.fromkeys(words))
    half = WORDS_MAX // 2
    return distinct if len(distinct) <= WORDS_MAX else distinct[:half] + distinct[-half:]


def _vector(stored: PgVector | None) -> Vector | None:
    return None if stored is None else np.asarray(stored.to_numpy(), dtype=np.float32)
