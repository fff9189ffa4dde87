"""Stores to test: the five operations over each replica, with a clock the test moves."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from stores.protocol import Replica
from stores.records import RecordStore
from stores.registry import open_replica
from stores.router import Member, Router
from stores.testing import HashEmbedder
from tests.servers import PostgresServer
from tests.stores.builders import NOW

# Machines that run tests are shared: how long an example takes says nothing about the code.
settings.register_profile("stores", deadline=None)
settings.load_profile("stores")


_numbers = count()
Shape = str | list[Any]


@dataclass
class MovableClock:
    now: int = NOW

    def __call__(self) -> int:
        return self.now


class LibraryStore:
    """A store of this library as a ``StoreUnderTest``."""

    def __init__(self, store: RecordStore | Router, clock: MovableClock) -> None:
        self.clock = clock
        self.store = store
        self.reject = store.reject

    async def approve(self, memory_id: str) -> None:
        await self.store.approve(memory_id)

    async def pass_time(self, ms: int) -> None:
        self.clock.now += ms


@pytest.fixture(scope="session")
def pgvector_url(postgres: PostgresServer) -> str:
    """A database for every test: each uses a schema of its own."""
    return postgres.new_database(scheme="pgvector")


@pytest.fixture
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """The URL of a new and empty store, by its scheme."""

    def make(scheme: str) -> str:
        number = next(_numbers)
        match scheme:
            case "sqlite-vec":
                return f"sqlite-vec://{tmp_path}/{number}.db"
            case "pgvector":
                # Asked for only here, so that the tests of other stores start no server.
                return f"{request.getfixturevalue('pgvector_url')}?schema=test_{number}"
            case _:
                return f"{scheme}://{number}"

    return make


@pytest.fixture(params=["memory", "sqlite-vec", "pgvector"])
def store_url(request: pytest.FixtureRequest, new_url: Callable[[str], str]) -> Callable[[], str]:
    scheme: str = request.param
    return lambda: new_url(scheme)


#: A list is a router of what it holds.
SHAPES: dict[str, Shape] = {
    "memory": "memory",
    "sqlite-vec": "sqlite-vec",
    "pgvector": "pgvector",
    "router": ["sqlite-vec", "pgvector"],
    "nested-router": ["memory", ["sqlite-vec", "memory"]],
}


@pytest.fixture(params=SHAPES)
def new_store(
    request: pytest.FixtureRequest, new_url: Callable[[str], str]
) -> Callable[[], AbstractAsyncContextManager[LibraryStore]]:
    @asynccontextmanager
    async def factory() -> AsyncIterator[LibraryStore]:
        clock, replicas = MovableClock(), list[Replica]()

        def build(shape: Shape) -> RecordStore | Router:
            if isinstance(shape, list):
                members = [Member(name=f"child{at}", store=build(s)) for at, s in enumerate(shape)]
                return Router(members, clock=clock)
            replica = open_replica(new_url(shape), workspace="w", embedder=HashEmbedder())
            replicas.append(replica)
            return RecordStore(replica, HashEmbedder(), clock=clock)

        try:
            yield LibraryStore(build(SHAPES[request.param]), clock)
        finally:
            for replica in replicas:
                await replica.close()

    return factory
