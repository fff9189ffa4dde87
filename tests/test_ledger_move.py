"""An embedded installation moves into PostgreSQL, and goes on there as if nothing had been."""

import time
from collections.abc import Iterator

import psycopg
import pytest

from benchmarks.local_server import LocalServer, installed, serving
from tests.servers import PostgresServer

CONTENTS = ("The ferry leaves at nine", "Bob prefers tea \U0001f375", "Die Brücke ist gesperrt")


@pytest.fixture(scope="module")
def embedded() -> Iterator[LocalServer]:
    """An installation that remembered, forgot for good, and stages one more."""
    with installed() as server:
        with serving(server), server.client() as client:
            ids = [
                remember(client, content, metadata={"n": 12345678901234567890})
                for content in CONTENTS
            ]
            body = {"agent_id": "a", "ids": ids[:1], "hard": True}
            client.post("/v0/forget", json=body).raise_for_status()
            remember(client, "Staged", approval_required=True)
        yield server


def remember(client, content: str, **extra: object) -> str:  # type: ignore[no-untyped-def]
    body = {"agent_id": "a", "type": "semantic", "content": content, **extra}
    return str(client.post("/v0/remember", json=body).raise_for_status().json()["id"])


def wait_until_filled(server: LocalServer, database: dict[str, str]) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            assert "nothing differ" in server.manage("stores", "verify", **database)
        except RuntimeError:
            assert time.monotonic() < deadline
        else:
            return


def test_an_installation_moves_whole_and_goes_on(
    embedded: LocalServer, postgres: PostgresServer
) -> None:
    database = {"database_url": postgres.new_database()}
    embedded.manage("migrate", "--verbosity", "0", **database)
    assert "Moved and proved" in embedded.manage("migrate-ledger", **database)
    assert "All is well" in embedded.manage("audit", "verify", **database)
    with serving(embedded, **database), embedded.client() as client:
        body = {"agent_id": "a", "query": "tea and ferries", "k": 10}
        hits = client.post("/v0/recall", json=body).raise_for_status().json()["results"]
        assert {hit["content"] for hit in hits} == set(CONTENTS[1:])
        assert {hit["metadata"]["n"] for hit in hits} == {12345678901234567890}
        # Numbers go on after the highest that came along.
        assert remember(client, "After the move")
        wait_until_filled(embedded, database)
    assert "All is well" in embedded.manage("audit", "verify", **database)


def test_a_database_that_holds_something_is_refused(
    embedded: LocalServer, postgres: PostgresServer
) -> None:
    database = {"database_url": postgres.new_database()}
    embedded.manage("migrate", "--verbosity", "0", **database)
    embedded.manage("migrate-ledger", **database)
    with pytest.raises(RuntimeError, match="take an empty one"):
        embedded.manage("migrate-ledger", **database)


def test_a_server_that_runs_is_refused_and_nothing_moved(
    embedded: LocalServer, postgres: PostgresServer
) -> None:
    database = {"database_url": postgres.new_database()}
    embedded.manage("migrate", "--verbosity", "0", **database)
    with serving(embedded), pytest.raises(RuntimeError, match="stop it"):
        embedded.manage("migrate-ledger", **database)
    with psycopg.connect(database["database_url"]) as connection:
        counted = connection.execute("SELECT count(*) FROM governance_memory").fetchone()
    assert counted == (0,)


def test_without_postgresql_there_is_nowhere_to_move(embedded: LocalServer) -> None:
    with pytest.raises(RuntimeError, match="MEMORYWIRE_DATABASE_URL"):
        embedded.manage("migrate-ledger")
