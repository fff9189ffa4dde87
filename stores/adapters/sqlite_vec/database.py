"""The file: its schema, and the threads that hold connections to it.

SQLite calls block, so they run in threads of their own: one that writes and a few that read, each
with a connection that stays open. A process has them once per file, however many workspaces it
opens: their writes queue for one thread instead of polling for each other's lock. Other processes
may have the same file open.
"""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

import apsw
import sqlite_vec

from stores.errors import EmbedderMismatch, StoreRefused, StoreUnavailable

Result = TypeVar("Result")
Work = Callable[[apsw.Connection], Result]

SCHEMA_VERSION: Final = 2
READERS: Final = 2
BUSY_TIMEOUT_MS: Final = 5_000
CHECKPOINT_TIMEOUT_SECONDS: Final = 5.0
MMAP_BYTES: Final = 256 * 1024 * 1024
# Space is taken a chunk at a time for every agent: 16 vectors of 384 floats are 24 KB, and larger
# chunks were not faster.
VECTOR_CHUNK_ROWS: Final = 16

_TRY_AGAIN: Final = (
    apsw.BusyError,
    apsw.LockedError,
    apsw.IOError,
    apsw.CantOpenError,
    apsw.FullError,
    apsw.InterruptError,
    apsw.ConnectionClosedError,
)

# An erased memory keeps its row with nothing but id and version, so that a late write loses.
_SCHEMA: Final = """
CREATE TABLE installation (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE memory (
    rowid INTEGER PRIMARY KEY,
    workspace TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    agent_id TEXT,
    user_id TEXT,
    type TEXT,
    created_at INTEGER,
    is_visible INTEGER NOT NULL DEFAULT 0,
    record TEXT,
    deleted_at INTEGER,
    archived_at INTEGER,
    demoted_at INTEGER,
    last_recalled_at INTEGER,
    session TEXT,
    UNIQUE (workspace, id)
);
CREATE INDEX memory_scope ON memory (workspace, agent_id, user_id) WHERE is_visible;
CREATE INDEX memory_episodes ON memory (workspace, agent_id, user_id, created_at, id)
    WHERE is_visible AND type = 'episodic';
CREATE VIRTUAL TABLE memory_vector USING vec0(
    shelf INTEGER PARTITION KEY,
    user_key INTEGER,
    embedding FLOAT[{dimensions}] DISTANCE_METRIC=cosine,
    CHUNK_SIZE={chunk_rows}
);
CREATE VIRTUAL TABLE memory_text USING fts5(
    shelf,
    words,
    tokenize = "porter unicode61 remove_diacritics 2 categories 'L* M* N* Co'"
);
INSERT INTO memory_text (memory_text, rank) VALUES ('secure-delete', 1);
"""
_SESSIONS: Final = """
CREATE INDEX memory_sessions ON memory (workspace, agent_id, user_id, session, created_at, id)
    WHERE is_visible AND type = 'episodic' AND session IS NOT NULL;
"""
#: From schema 1: the session has a column of its own.
_UPGRADE: Final = """
ALTER TABLE memory ADD COLUMN session TEXT;
UPDATE memory SET session = record -> '$.metadata.session'
    WHERE type = 'episodic'
    AND json_type(record, '$.metadata.session') IN ('text', 'integer');
"""


class Database:
    """One SQLite file, opened for one embedder.

    Raises: EmbedderMismatch if the file was filled by another model or with vectors of another
        size; StoreUnavailable (busy, I/O) or StoreRefused (anything else) from every method.
    """

    def __init__(self, path: Path, *, model_id: str, dimensions: int) -> None:
        _create_private(path)
        self.users = 1
        self._path = path
        self._local = threading.local()
        self._connections: list[apsw.Connection] = []
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="sqlite-vec-write")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-vec-read")
        try:
            self._submit(
                self._writer, lambda connection: _prepare(connection, model_id, dimensions)
            ).result()
        except BaseException:
            self._close()
            raise

    async def read(self, work: Work[Result]) -> Result:
        return await asyncio.wrap_future(self._submit(self._readers, work))

    async def write(self, work: Work[Result]) -> Result:
        """Run ``work`` in one transaction that takes the write lock at its start."""

        def in_transaction(connection: apsw.Connection) -> Result:
            with _transaction(connection):
                return work(connection)

        return await asyncio.wrap_future(self._submit(self._writer, in_transaction))

    async def drop_traces(self) -> None:
        """Overwrite what deleted rows left in the write-ahead log.

        Raises: StoreUnavailable while another connection still reads an old state.
        """
        await asyncio.wrap_future(self._submit(self._writer, _truncate_log))

    async def compact(self) -> None:
        """Give free pages back and rewrite the rest, then drop every trace. Takes a while."""
        await asyncio.wrap_future(self._submit(self._writer, _compact))

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    def _submit(self, threads: ThreadPoolExecutor, work: Work[Result]) -> Future[Result]:
        try:
            return threads.submit(self._run, work)
        except RuntimeError as error:  # the threads have ended
            raise StoreUnavailable("sqlite-vec: the file is closed") from error

    def _run(self, work: Work[Result]) -> Result:
        try:
            return work(self._connection())
        except _TRY_AGAIN as error:
            raise StoreUnavailable(f"sqlite-vec: {type(error).__name__}") from error
        except apsw.Error as error:
            raise StoreRefused(f"sqlite-vec: {type(error).__name__}: {error}") from error

    def _connection(self) -> apsw.Connection:
        """This thread's connection, opened when it is first needed."""
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = _connect(self._path)
            self._connections.append(connection)
        return connection

    def _close(self) -> None:
        self._writer.shutdown()
        self._readers.shutdown()
        for connection in self._connections:
            connection.close()
        self._connections.clear()


# --- sharing -------------------------------------------------------------------------------------

# The process id is part of the key because threads do not survive a fork.
_Key = tuple[int, Path, str, int]
_open_files: Final[dict[_Key, Database]] = {}
_opening: Final = threading.Lock()


def acquire(path: Path, *, model_id: str, dimensions: int) -> Database:
    """The process's database for this file and embedder, opened if nobody has it. Release it."""
    key = (os.getpid(), path.resolve(), model_id, dimensions)
    with _opening:
        database = _open_files.get(key)
        if database is None:
            database = _open_files[key] = Database(path, model_id=model_id, dimensions=dimensions)
        else:
            database.users += 1
        return database


async def release(database: Database) -> None:
    """Give an acquired database back; the last one to do so closes it."""
    with _opening:
        database.users -= 1
        if database.users > 0:
            return
        for key in [key for key, value in _open_files.items() if value is database]:
            del _open_files[key]
    await database.close()


# --- one connection ------------------------------------------------------------------------------


def _connect(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.enable_load_extension(False)
    connection.pragma("journal_mode", "wal")
    # A crash may lose the last writes but not the file, and the ledger still has them.
    connection.pragma("synchronous", "normal")
    connection.pragma("secure_delete", 1)
    # Sorting must not write content to files that secure_delete knows nothing about.
    connection.pragma("temp_store", "memory")
    connection.pragma("mmap_size", MMAP_BYTES)
    return connection


def _create_private(path: Path) -> None:
    """Make a new file readable to its owner only; SQLite gives its log the same permissions.

    A file that exists is left alone: to open and close it here would drop the locks that this
    process holds on it.
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise StoreUnavailable(f"sqlite-vec: cannot open the file: {error.strerror}") from error


@contextmanager
def _transaction(connection: apsw.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _prepare(connection: apsw.Connection, model_id: str, dimensions: int) -> None:
    """Create the schema in a new file; check that an old one fits."""
    with _transaction(connection):
        version = connection.pragma("user_version")
        if version == 0:
            _create(connection, model_id, dimensions)
        elif version == 1:
            connection.execute(_UPGRADE + _SESSIONS)
            connection.pragma("user_version", SCHEMA_VERSION)
        elif version != SCHEMA_VERSION:
            raise StoreRefused(
                f"the file has schema {version}, this version reads {SCHEMA_VERSION}"
            )
        _check_embedder(connection, model_id, dimensions)


def _create(connection: apsw.Connection, model_id: str, dimensions: int) -> None:
    connection.execute(_SCHEMA.format(dimensions=dimensions, chunk_rows=VECTOR_CHUNK_ROWS))
    connection.execute(_SESSIONS)
    connection.executemany(
        "INSERT INTO installation VALUES (?, ?)",
        [("embedder", model_id), ("dimensions", str(dimensions))],
    )
    connection.pragma("user_version", SCHEMA_VERSION)


def _check_embedder(connection: apsw.Connection, model_id: str, dimensions: int) -> None:
    held = dict(connection.execute("SELECT key, value FROM installation"))
    if (held["embedder"], held["dimensions"]) != (model_id, str(dimensions)):
        raise EmbedderMismatch(
            f"the file holds vectors of {held['embedder']!r} ({held['dimensions']} dimensions), "
            f"not of {model_id!r} ({dimensions}): embed its memories again, or configure that model"
        )


def _truncate_log(connection: apsw.Connection) -> None:
    deadline = time.monotonic() + CHECKPOINT_TIMEOUT_SECONDS
    while True:
        is_blocked, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
        if not is_blocked:
            return
        if time.monotonic() > deadline:
            raise StoreUnavailable("sqlite-vec: a reader holds an old state; traces remain")
        time.sleep(0.05)


def _compact(connection: apsw.Connection) -> None:
    connection.execute("INSERT INTO memory_text (memory_text) VALUES ('optimize')")
    connection.execute("VACUUM")
    _truncate_log(connection)
