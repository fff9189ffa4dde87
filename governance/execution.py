"""Where ledger work runs: a few threads, each with a database connection that stays open.

SQLite has one writer, so there is one writing thread; readers never wait for it (WAL). PostgreSQL
has as many as ``writer_threads`` says, and ``walls`` keeps those of one workspace apart. Endpoints
are coroutines and hand over::

    page = await execution.read(queue_rows, workspace_id)
    outcome = await execution.write(apply, request)

``write`` wraps the call in one transaction. Neither may touch a store or a model: no transaction
is open across such a call.
"""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import (
    InterfaceError,
    OperationalError,
    close_old_connections,
    connection,
    transaction,
)

from governance import walls
from governance.errors import LedgerBusy

P = ParamSpec("P")
T = TypeVar("T")

_readers = ThreadPoolExecutor(settings.ENVIRONMENT.reader_threads, thread_name_prefix="ledger-read")
_writers = ThreadPoolExecutor(
    1 if connection.vendor == "sqlite" else settings.ENVIRONMENT.writer_threads,
    thread_name_prefix="ledger-write",
)


async def read(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that only reads, on a reading connection."""
    return await asyncio.wrap_future(_submit(_readers, partial(function, *args, **kwargs)))


async def write(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function in one transaction: all of it is committed when this returns, or none.

    Raises: LedgerBusy if another process kept the database locked for too long, or it is away.
    """
    return await asyncio.wrap_future(
        _submit(_writers, partial(_atomically, function, args, kwargs))
    )


async def maintain(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function on the writing connection outside a transaction: for checkpoints."""
    return await asyncio.wrap_future(_submit(_writers, partial(function, *args, **kwargs)))


def write_sync(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """``write`` for code outside an event loop: Celery tasks and commands."""
    return _submit(_writers, partial(_atomically, function, args, kwargs)).result()


def read_sync(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """``read`` for code outside an event loop."""
    return _submit(_readers, partial(function, *args, **kwargs)).result()


def close() -> None:
    """Finish what was handed over and end the threads: at the end of a process."""
    for pool in (_writers, _readers):
        pool.shutdown()


def _submit(pool: ThreadPoolExecutor, call: Callable[[], T]) -> Future[T]:
    context = contextvars.copy_context()
    return pool.submit(context.run, _with_connection, call)


def _with_connection(call: Callable[[], T]) -> T:
    try:
        return call()
    except (OperationalError, InterfaceError) as error:
        if _may_pass(error):
            raise LedgerBusy from error
        raise
    finally:
        if connection.errors_occurred:
            close_old_connections()  # a new one stands outside every wall
        walls.leave()


def _may_pass(error: Exception) -> bool:
    """Whether the same call may succeed later: a file locked, a server away or deadlocked."""
    if connection.vendor == "sqlite":
        return "locked" in str(error) or "busy" in str(error)
    return True


def _atomically(
    function: Callable[..., T], args: tuple[object, ...], kwargs: dict[str, object]
) -> T:
    with transaction.atomic():
        return function(*args, **kwargs)
