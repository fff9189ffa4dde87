"""A workspace's memories in the SQLite file."""

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import apsw

from stores import rows
from stores.adapters.sqlite_vec import codec, database, search
from stores.errors import StoreError, StoreRefused
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
from stores.words import index_text

_COLUMNS: Final = ", ".join(f"memory.{column}" for column in COLUMNS)
_SELECT: Final = f"""
    SELECT {_COLUMNS},
        (SELECT embedding FROM memory_vector WHERE memory_vector.rowid = memory.rowid)
    FROM memory WHERE workspace = ? AND record IS NOT NULL
"""
_UPSERT: Final = f"""
    INSERT INTO memory (workspace, {", ".join(COLUMNS)})
    VALUES (?{", ?" * len(COLUMNS)})
    ON CONFLICT (workspace, id) DO UPDATE
    SET {", ".join(f"{column} = excluded.{column}" for column in COLUMNS)}
    WHERE excluded.version > memory.version
    RETURNING rowid
"""
_DROP: Final = "DELETE FROM memory WHERE workspace = ? AND id = ? RETURNING rowid"
_BURY: Final = """
    INSERT INTO memory (workspace, id, version) VALUES (?, ?, ?)
    ON CONFLICT (workspace, id) DO UPDATE
    SET version = excluded.version, agent_id = NULL, user_id = NULL, type = NULL,
        created_at = NULL, is_visible = 0, record = NULL, deleted_at = NULL, archived_at = NULL,
        demoted_at = NULL, last_recalled_at = NULL, session = NULL
    WHERE excluded.version >= memory.version
    RETURNING rowid
"""


class SqliteVecReplica:
    """One workspace of a sqlite-vec file.

    Raises: EmbedderMismatch, StoreUnavailable or StoreRefused when it cannot be opened.
    """

    name: Final = "sqlite-vec"
    capabilities: Final = frozenset(Capability) - {Capability.GRAPH, Capability.GOVERNANCE}

    def __init__(self, path: Path, *, workspace: str, embedder: Embedder) -> None:
        self._workspace = workspace
        self._dimensions = embedder.dimensions
        self._is_open = True
        self._database = database.acquire(
            path, model_id=embedder.model_id, dimensions=embedder.dimensions
        )

    async def put(self, records: Sequence[ReplicaRecord]) -> None:
        for state in records:
            if state.vector is not None and state.vector.shape != (self._dimensions,):
                raise StoreRefused(f"{state.record.id}: not a vector of {self._dimensions} numbers")

        def work(connection: apsw.Connection) -> None:
            for state in records:
                self._put_one(connection, state)

        await self._database.write(work)

    async def erase(self, versions: Mapping[str, int]) -> None:
        """See ``Replica``. Text is overwritten in the file and its log before this returns.

        Raises: StoreUnavailable also if a reader in another process still holds the old pages;
            the memories are gone for every search then, and calling again finishes the work.
        """

        def work(connection: apsw.Connection) -> None:
            for memory_id, version in versions.items():
                self._erase_one(connection, memory_id, version)

        await self._database.write(work)
        await self._database.drop_traces()

    async def drop(self, ids: Collection[str]) -> None:
        def work(connection: apsw.Connection) -> None:
            for memory_id in ids:
                dropped = connection.execute(_DROP, (self._workspace, memory_id)).fetchone()
                if dropped is not None:
                    _unindex(connection, dropped[0])

        await self._database.write(work)

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
        return await self._database.read(lambda connection: search.run(connection, query))

    async def fetch(self, ids: Collection[str]) -> Sequence[ReplicaRecord]:
        wanted = json.dumps(list(ids))
        return await self._select("AND id IN (SELECT value FROM json_each(?))", (wanted,))

    async def scan(self, *, cursor: str | None = None, limit: int = 500) -> ScanPage:
        # One more than asked for tells whether there is a next page.
        found = await self._select("AND id > ? ORDER BY id LIMIT ?", (cursor or "", limit + 1))
        page = found[:limit]
        return ScanPage(
            records=page, cursor=page[-1].record.id if len(found) > limit and page else None
        )

    async def health(self) -> Health:
        def work(connection: apsw.Connection) -> int:
            return int(
                connection.execute(
                    "SELECT count(*) FROM memory WHERE workspace = ? AND is_visible",
                    (self._workspace,),
                ).get
            )

        try:
            return Health(ok=True, detail={"visible": await self._database.read(work)})
        except StoreError as error:
            return Health(ok=False, detail={"error": type(error).__name__})

    async def compact(self) -> None:
        """Rewrite the file to the size of its content. Other writers wait meanwhile."""
        await self._database.compact()

    async def close(self) -> None:
        if self._is_open:
            self._is_open = False
            await database.release(self._database)

    def _put_one(self, connection: apsw.Connection, state: ReplicaRecord) -> None:
        written = connection.execute(_UPSERT, (self._workspace, *rows.to_row(state))).fetchone()
        if written is None:
            return  # a version at least as new is held
        (rowid,) = written
        _unindex(connection, rowid)
        shelf = codec.shelf(self._workspace, state.record.agent_id)
        if state.vector is not None:
            connection.execute(
                "INSERT INTO memory_vector (rowid, shelf, user_key, embedding) VALUES (?, ?, ?, ?)",
                (
                    rowid,
                    shelf if rows.is_visible(state) else codec.HIDDEN_SHELF,
                    codec.user_key(state.record.user_id),
                    codec.vector_bytes(state.vector),
                ),
            )
        if rows.is_visible(state):
            connection.execute(
                "INSERT INTO memory_text (rowid, shelf, words) VALUES (?, ?, ?)",
                (rowid, str(shelf), index_text(state.record.content)),
            )

    def _erase_one(self, connection: apsw.Connection, memory_id: str, version: int) -> None:
        buried = connection.execute(_BURY, (self._workspace, memory_id, version)).fetchone()
        if buried is not None:
            _unindex(connection, buried[0])

    async def _select(self, condition: str, bindings: tuple[Any, ...]) -> list[ReplicaRecord]:
        def work(connection: apsw.Connection) -> list[tuple[Any, ...]]:
            return connection.execute(
                f"{_SELECT} {condition}", (self._workspace, *bindings)
            ).fetchall()

        return [
            rows.from_row(row, vector=codec.vector_from(row[-1]))
            for row in await self._database.read(work)
        ]


def _unindex(connection: apsw.Connection, rowid: int) -> None:
    connection.execute("DELETE FROM memory_vector WHERE rowid = ?", (rowid,))
    connection.execute("DELETE FROM memory_text WHERE rowid = ?", (rowid,))
