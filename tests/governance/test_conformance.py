"""Over HTTP the server behaves as a memorywire store does."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from governance import clock, embedding, stores_runtime
from stores.testing import SCENARIOS, HashEmbedder, Scenario
from tests.http_store import HttpStoreUnderTest, MovableTime
from tests.world import World


@pytest.fixture
def server(
    transactional_db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[HttpStoreUnderTest]:
    """The server over its default store, with an embedder that hashes words and a clock to move."""
    stores_runtime.close()
    settings.STORE_URLS = [f"sqlite-vec://{tmp_path}/store.db"]
    monkeypatch.setattr(embedding, "open_embedder", lambda name: HashEmbedder())
    embedding.embedder.cache_clear()
    passing = MovableTime()
    monkeypatch.setattr(clock, "time", passing)
    yield HttpStoreUnderTest(World.create("acme"), passing)
    stores_runtime.close()
    embedding.embedder.cache_clear()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
async def test_conformance(scenario: Scenario, server: HttpStoreUnderTest) -> None:
    @asynccontextmanager
    async def the_server() -> AsyncIterator[HttpStoreUnderTest]:
        yield server

    await scenario(the_server)  # none is left out: the server can do all that they need
