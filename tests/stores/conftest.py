"""Stores to test: the five operations over each replica, with a clock the test moves."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from stores.protocol import Replica
from stores.records import RecordStore
from stores.registry import open_replica
from stores.testing import HashEmbedder
from tests.servers import PostgresServer
from tests.stores.builders import NOW

# Machines that run tests are shared: how long an example takes says nothing about the code.
settings.register_profile("stores", deadline=None)
settings.load_profile("stores")


_schemas = count()


@dataclass
class MovableClock:
    now: int = NOW

    def __call__(self) -> int:
        return self.now


class LibraryStore:
    """A ``RecordStore`` as a ``StoreUnderTest``."""

    def __init__(self, replica: Replica) -> None:
        self.clock = MovableClock()
        self.store = RecordStore(replica, HashEmbedder(), clock=self.clock)

    async def approve(self, memory_id: str) -> None:
        await self.store.approve(memory_id)

    async def reject(self, memory_id: str) -> None:
        await self.store.reject(memory_id)

    async def pass_time(self, ms: int) -> None:
        self.clock.now += ms


@pytest.fixture(scope="session")
def pgvector_url(postgres: PostgresServer) -> str:
    """A database for every test: each uses a schema of its own."""
    return postgres.new_database(scheme="pgvector")


@pytest.fixture(params=["memory", "sqlite-vec", "pgvector"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    numbers = count()

    def pgvector() -> str:
        # Asked for only here, so that the tests of other stores start no server.
        return str(request.getfixturevalue("pgvector_url"))

    schemes = {
        "memory": lambda: f"memory://{next(numbers)}",
        "sqlite-vec": lambda: f"sqlite-vec://{tmp_path}/{next(numbers)}.db",
        "pgvector": lambda: f"{pgvector()}?schema=test_{next(_schemas)}",
    }
    return schemes[request.param]


@pytest.fixture
def new_store(
    store_url: Callable[[], str],
) -> Callable[[], AbstractAsyncContextManager[LibraryStore]]:
    @asynccontextmanager
    async def factory() -> AsyncIterator[LibraryStore]:
        replica = open_replica(store_url(), workspace="w", embedder=HashEmbedder())
        try:
            yield LibraryStore(replica)
        finally:
            await replica.close()

    return factory
