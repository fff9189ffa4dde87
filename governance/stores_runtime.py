"""The one loop per process that adapters live on.

Web code awaits from its own loop, Celery and commands wait: both hand over here, so that an
adapter's clients never meet a second loop. Started on first use, so after any fork.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Q

from governance import execution
from governance.embedding import embedder
from governance.models import MemoryVector
from stores.errors import EmbedderMismatch, StoreError
from stores.fan_out import FanOut
from stores.protocol import Replica
from stores.registry import open_replica

T = TypeVar("T")

_replicas: dict[str, list[Replica]] = {}  # by workspace; touched on the store loop only


@cache
def fan_out() -> FanOut:
    """Asks this process's stores and remembers how they behave. Use on the store loop."""
    return FanOut()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="stores", daemon=True).start()
    return loop


async def on_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the store loop and await it from another."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, _loop()))


def wait(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the store loop from a thread that has none."""
    return asyncio.run_coroutine_threadsafe(coroutine, _loop()).result()


def soon(seconds: float, make: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Have a coroutine run on the store loop after a while: it outlives the caller's loop."""

    def begin() -> None:
        loop.call_later(seconds, lambda: loop.create_task(make()))

    loop = _loop()
    loop.call_soon_threadsafe(begin)


def store_names() -> tuple[str, ...]:
    """Names of the configured stores, the primary first: the schemes of their URLs."""
    return tuple(urlsplit(url).scheme for url in settings.STORE_URLS)


async def replicas(workspace_id: str) -> Sequence[Replica]:
    """The workspace's replicas, opened on first use. Call on the store loop."""
    if workspace_id not in _replicas:
        await execution.read(check_vectors)
        _replicas[workspace_id] = [
            open_replica(url, workspace=workspace_id, embedder=embedder())
            for url in settings.STORE_URLS
        ]
    return _replicas[workspace_id]


def check_vectors() -> None:
    """Raises: EmbedderMismatch if the ledger holds vectors of another model; two index look-ups."""
    model_id = embedder().model_id
    others = MemoryVector.objects.filter(Q(model_id__lt=model_id) | Q(model_id__gt=model_id))
    if (other := others.values_list("model_id", flat=True).first()) is not None:
        raise EmbedderMismatch(
            f"The ledger holds vectors of {other!r}, and {model_id!r} is configured."
        )


async def ensure_open(workspace_id: str) -> None:
    """Open the workspace's stores, from any loop. Free once they are.

    Raises: EmbedderMismatch, StoreUnavailable, StoreRefused.
    """
    if workspace_id not in _replicas:
        await on_loop(replicas(workspace_id))


async def replica(workspace_id: str, store: str) -> Replica:
    """One of them by its store's name. Call on the store loop."""
    return (await replicas(workspace_id))[store_names().index(store)]


def close() -> None:
    """Close every replica: at the end of a process or a test."""

    async def close_all() -> None:
        for opened in _replicas.values():
            for each in opened:
                await each.close()
        _replicas.clear()
        fan_out.cache_clear()

    if _loop.cache_info().currsize:
        wait(close_all())


async def health(workspace_id: str) -> dict[str, bool]:
    """Whether each store answers, by name. Call on the store loop."""
    answers: dict[str, bool] = {}
    for each in await replicas(workspace_id):
        try:
            async with asyncio.timeout(settings.ENVIRONMENT.recall_budget_ms / 1000):
                answers[each.name] = (await each.health()).ok
        except (StoreError, TimeoutError):
            answers[each.name] = False
    return answers
