"""Connections: one pool per process, event loop and database, however many workspaces it opens."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final

import psycopg
from pgvector.psycopg import register_vector_async
from psycopg import sql
from psycopg_pool import AsyncConnectionPool, PoolClosed

from stores.adapters.pgvector import schema
from stores.adapters.pgvector.address import Address
from stores.errors import StoreRefused, StoreUnavailable

#: Enough for some recalls at once. A search takes milliseconds.
CONNECTIONS_MAX: Final = 8
#: How long a call waits for a connection. Recalls have a shorter budget of their own.
WAIT_SECONDS: Final = 5.0

Pool = AsyncConnectionPool[psycopg.AsyncConnection]


class Database:
    """One database and schema, opened for one embedder. Connects when it is first needed.

    Raises, from every method: EmbedderMismatch, StoreRefused, StoreUnavailable.
    """

    def __init__(self, address: Address, *, model_id: str, dimensions: int) -> None:
        self.users = 1
        self._address = address
        self._model_id = model_id
        self._dimensions = dimensions
        self._pool: Pool | None = None
        self._partitions: set[str] = set()
        self._preparing = asyncio.Lock()

    @asynccontextmanager
    async def connection(self, workspace: str) -> AsyncIterator[psycopg.AsyncConnection]:
        """A connection outside of a transaction, to a schema that has the workspace's partition."""
        with translated_errors():
            pool = self._pool or await self._open()
            async with pool.connection() as connection:
                if workspace not in self._partitions:
                    await schema.add_partition(connection, self._address, workspace)
                    self._partitions.add(workspace)
                yield connection

    async def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    async def _open(self) -> Pool:
        async with self._preparing:
            if self._pool is None:
                # Not through the pool: it would go on trying and never say why it failed.
                async with await psycopg.AsyncConnection.connect(
                    self._address.conninfo, autocommit=True
                ) as connection:
                    await schema.prepare(
                        connection,
                        self._address,
                        model_id=self._model_id,
                        dimensions=self._dimensions,
                    )
                pool = Pool(
                    self._address.conninfo,
                    min_size=1,
                    max_size=CONNECTIONS_MAX,
                    timeout=WAIT_SECONDS,
                    kwargs={"autocommit": True},
                    configure=self._configure,
                    check=Pool.check_connection,
                    open=False,
                )
                await pool.open()
                self._pool = pool
            return self._pool

    async def _configure(self, connection: psycopg.AsyncConnection) -> None:
        await schema.use(connection, self._address)
        await register_vector_async(connection)
        # The best plan depends on how many memories the agent has, so it is made anew each time.
        await connection.execute("SET plan_cache_mode TO force_custom_plan")
        # A search goes on in the index until enough of the scope's own rows are found.
        await connection.execute("SET hnsw.iterative_scan TO relaxed_order")


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turn the driver's errors into the library's. Neither repeats values, which may be content."""
    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError, PoolClosed) as error:
        raise StoreUnavailable(f"pgvector: {_name(error)}") from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreRefused(
            "pgvector: the role may not do that; it needs CREATE in the database, and the"
            " extension vector made by a superuser if it is missing"
        ) from error
    except psycopg.Error as error:
        raise StoreRefused(f"pgvector: {_name(error)}") from error


def _name(error: Exception) -> str:
    state = getattr(error, "sqlstate", None)
    return type(error).__name__ + (f" ({state})" if state else "")


# --- sharing -------------------------------------------------------------------------------------

_Key = tuple[int, asyncio.AbstractEventLoop, Address, str, int]
_open: Final[dict[_Key, Database]] = {}


def acquire(address: Address, *, model_id: str, dimensions: int) -> Database:
    """The running loop's database for this address and embedder. Release it."""
    # The process id is part of the key because connections do not survive a fork.
    key = (os.getpid(), asyncio.get_running_loop(), address, model_id, dimensions)
    database = _open.get(key)
    if database is None:
        database = _open[key] = Database(address, model_id=model_id, dimensions=dimensions)
    else:
        database.users += 1
    return database


async def release(database: Database) -> None:
    """Give an acquired database back; the last one to do so closes it."""
    database.users -= 1
    if database.users > 0:
        return
    for key in [key for key, value in _open.items() if value is database]:
        del _open[key]
    await database.close()


def discard(address: Address) -> None:
    """Drop the schema with everything in it, so that another embedder may fill it anew."""
    with (
        translated_errors(),
        psycopg.connect(address.conninfo, autocommit=True) as connection,
        suppress(psycopg.errors.InvalidSchemaName),
    ):
        connection.execute(
            sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(address.schema))
        )
