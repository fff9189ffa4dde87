"""Fixtures every test may use."""

from collections.abc import Iterator

import pytest
from django.conf import settings as django_settings
from django.core.cache import cache
from django.db import connection
from django.db.backends.base.operations import BaseDatabaseOperations
from pytest_django.fixtures import Settings

from governance import embedding, execution, outbox, recall_tracking, stores_runtime
from governance.models import triggers
from stores.testing import HashEmbedder
from tests import servers
from tests.world import World


@pytest.fixture(autouse=True, scope="session")
def _triggers_lifted_for_flush_only() -> Iterator[None]:
    """Emptying the tables between tests is the one change the audit triggers must let pass."""
    operations = type(connection.ops)
    flush = operations.execute_sql_flush

    def lifted(self: BaseDatabaseOperations, sql_list: list[str]) -> None:
        triggers.drop(connection)
        flush(self, sql_list)
        triggers.install(connection)

    operations.execute_sql_flush = lifted  # type: ignore[method-assign]
    yield
    operations.execute_sql_flush = flush  # type: ignore[method-assign]


def pytest_configure() -> None:
    """Passwords of invented people are worth no rounds: they were half of the suite's time."""
    django_settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(scope="session")
def postgres() -> servers.PostgresServer:
    """A PostgreSQL with pgvector, started when first asked for and shared by the session."""
    return servers.postgres()


@pytest.fixture(scope="session")
def redis() -> servers.RedisServer:
    """A Redis, in the same way."""
    return servers.redis()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:
    """The ledger's threads let go of the database before it is removed."""
    yield
    stores_runtime.close()
    execution.close()


@pytest.fixture
def world(transactional_db: None) -> Iterator[World]:
    """A workspace with a key, a reviewer and an auditor, reached over HTTP.

    Transactional, since requests run on the ledger's own threads and connections.
    """
    yield World.create("acme")
    settle_all()


def settle_all() -> None:
    """Nothing noted in one test is written down in the next."""
    stores_runtime.wait(outbox.flush())
    stores_runtime.wait(recall_tracking.flush())
    stores_runtime.close()
    cache.clear()  # how often whom tried to log in


@pytest.fixture
def fast_world(
    transactional_db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    """A world whose store is in memory and whose embedder hashes words: for crowds."""
    stores_runtime.close()
    settings.STORE_URLS = ["memory://crowd"]
    monkeypatch.setattr(embedding, "open_embedder", lambda name: HashEmbedder())
    embedding.embedder.cache_clear()
    yield World.create("acme")
    settle_all()
    embedding.embedder.cache_clear()
