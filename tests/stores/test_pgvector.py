"""What the store in PostgreSQL promises beyond what every replica does."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from stores import registry
from stores.adapters.pgvector import PgvectorReplica, address, schema, search
from stores.errors import (
    EmbedderMismatch,
    MissingExtra,
    StoreError,
    StoreRefused,
    StoreUnavailable,
)
from stores.protocol import Replica, Scope
from stores.registry import open_replica
from stores.testing import HashEmbedder
from tests.servers import PostgresServer
from tests.stores.builders import EMBEDDER, NOW, a_state

AGENT = Scope(agent_id="agent")
_numbers = count()


@pytest.fixture
def url(pgvector_url: str) -> str:
    return f"{pgvector_url}?schema=own_{next(_numbers)}"


def opened(url: str, workspace: str = "w", **options: Any) -> PgvectorReplica:
    replica = open_replica(url, workspace=workspace, **({"embedder": EMBEDDER} | options))
    assert isinstance(replica, PgvectorReplica)
    return replica


@pytest.fixture
async def replica(url: str) -> AsyncIterator[PgvectorReplica]:
    replica = opened(url)
    yield replica
    await replica.close()


@pytest.fixture
def sql(url: str) -> Iterator[psycopg.Connection]:
    """A connection beside the store's, in its schema."""
    where = address.parse(url.partition("://")[2])
    with psycopg.connect(where.conninfo, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {where.schema}, public")
        yield connection


async def found(replica: Replica, query: str, limit: int = 10, **options: Any) -> list[str]:
    arguments: dict[str, Any] = {"vector": EMBEDDER.embed([query])[0], "limit": limit} | options
    result = await replica.search(AGENT, text=query, **arguments)
    return [candidate.id for candidate in result.candidates]


# --- erasing -------------------------------------------------------------------------------------

SECRET = "zanzibarquartz pelicanomega"


async def test_no_query_finds_a_word_of_an_erased_memory(
    replica: PgvectorReplica, sql: psycopg.Connection
):
    secret = a_state("s", SECRET, user_id="userjellybean", metadata={"k": "metamarmalade"})
    await replica.put([secret, a_state("o", "another note")])
    await replica.erase({"s": 2})
    ((row,),) = sql.execute("SELECT row_to_json(memory) FROM memory WHERE id = 's'").fetchall()
    assert {key: value for key, value in row.items() if value not in (None, "")} == {
        "workspace": "w",
        "id": "s",
        "version": 2,
        "is_visible": False,
    }
    assert await found(replica, SECRET) == ["o"]


async def test_after_compacting_no_byte_of_it_is_left_in_the_tables(
    replica: PgvectorReplica, sql: psycopg.Connection, postgres: PostgresServer
):
    secret = a_state("s", SECRET, user_id="userjellybean", metadata={"k": "metamarmalade"})
    await replica.put([secret, *(a_state(f"o{number}", f"note {number}") for number in range(50))])
    traces = [b"zanzibar", b"pelicanomega", b"userjellybean", b"metamarmalade"]
    sql.execute("CHECKPOINT")
    assert all(trace in files_of(sql, postgres) for trace in traces)
    await replica.erase({"s": 2})
    await replica.compact()
    sql.execute("CHECKPOINT")
    assert [trace for trace in traces if trace in files_of(sql, postgres)] == []
    assert len(await found(replica, "note", limit=100)) == 50


def files_of(sql: psycopg.Connection, postgres: PostgresServer) -> bytes:
    """What lies on disk of the workspace's partition, its indexes and long values."""
    paths = sql.execute(
        """
        WITH held AS (
            SELECT oid FROM pg_class WHERE oid = %(name)s::regclass
            UNION SELECT reltoastrelid FROM pg_class WHERE oid = %(name)s::regclass
            UNION SELECT indexrelid FROM pg_index WHERE indrelid = %(name)s::regclass
        )
        SELECT pg_relation_filepath(oid) FROM held WHERE oid <> 0
        """,
        {"name": schema.partition("w")},
    ).fetchall()
    return b"".join((postgres.data / path).read_bytes() for (path,) in paths)


# --- the embedder and the address ----------------------------------------------------------------


@pytest.mark.parametrize(
    "other", [HashEmbedder(model_id="another"), HashEmbedder(EMBEDDER.dimensions * 2)]
)
async def test_another_embedder_is_refused_loudly(
    url: str, replica: PgvectorReplica, other: HashEmbedder
):
    await replica.put([a_state("a")])
    stranger = opened(url, embedder=other)
    with pytest.raises(EmbedderMismatch, match="hash"):
        await stranger.fetch(["a"])
    health = await stranger.health()
    assert (health.ok, health.detail) == (False, {"error": "EmbedderMismatch"})
    await stranger.close()


async def test_a_discarded_store_takes_another_embedder(url: str, replica: PgvectorReplica):
    await replica.put([a_state("a")])
    await replica.close()
    registry.discard(url)
    other = HashEmbedder(model_id="another")
    refilled = opened(url, embedder=other)
    assert await refilled.fetch(["a"]) == []
    await refilled.close()


async def test_a_vector_of_another_size_is_refused_whole(replica: PgvectorReplica):
    wrong = a_state("b", "x", state={"vector": np.ones(3, dtype=np.float32)})
    with pytest.raises(StoreRefused, match="b: not a vector"):
        await replica.put([a_state("a", "x"), wrong])
    assert await replica.fetch(["a"]) == []


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("u:hunter2@[host/db", "cannot be read"),
        ("u:hunter2@host:5432", "names no database"),
        ("u:hunter2@host/db?schema=a;drop", "schema takes"),
        ("u:hunter2@host/db?schema=", "schema takes"),
        ("u:hunter2@host/db?nonsense=1", "cannot be read"),
    ],
)
def test_an_address_that_makes_no_sense_is_refused_without_its_password(place: str, message: str):
    with pytest.raises(StoreRefused, match=message) as refusal:
        opened(f"pgvector://{place}")
    assert "hunter2" not in str(refusal.value)


def test_parameters_beside_the_schema_are_the_driver_s():
    first = address.parse("u:p@host/db?schema=mine&sslmode=require")
    last = address.parse("u:p@host/db?sslmode=require&schema=mine")
    assert first == last
    assert "sslmode=require" in first.conninfo
    assert "p@" not in repr(first)


def test_without_its_packages_the_extra_is_named():
    code = """
import sys
sys.modules["psycopg"] = None
from stores.registry import open_replica
from tests.stores.builders import EMBEDDER
open_replica("pgvector://u@h/d", workspace="w", embedder=EMBEDDER)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert MissingExtra.__name__ in done.stderr
    assert "[grown]" in done.stderr


# --- failing -------------------------------------------------------------------------------------


async def test_a_server_that_is_down_is_unavailable():
    down = opened("pgvector://u:hunter2@127.0.0.1:1/db")
    for _ in range(2):
        with pytest.raises(StoreUnavailable) as refusal:
            await down.put([a_state("a")])
        assert "hunter2" not in str(refusal.value)
    assert not (await down.health()).ok
    await down.close()


async def test_a_wrong_password_is_unavailable(postgres: PostgresServer):
    url = postgres.new_database(scheme="pgvector").replace(postgres.password, "wrong")
    replica = opened(url)
    with pytest.raises(StoreUnavailable):
        await replica.scan()
    await replica.close()


async def test_a_broken_connection_is_made_anew(replica: PgvectorReplica, sql: psycopg.Connection):
    await replica.put([a_state("a")])
    sql.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
        " AND pid <> pg_backend_pid()",
        ("memorywire",),
    )
    assert len(await replica.fetch(["a"])) == 1


async def test_a_closed_replica_is_unavailable(url: str):
    replica = opened(url)
    await replica.close()
    await replica.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await replica.put([a_state("a")])


async def test_a_schema_of_a_later_version_is_refused(
    url: str, replica: PgvectorReplica, sql: psycopg.Connection
):
    await replica.scan()
    await replica.close()
    sql.execute("UPDATE installation SET value = '999' WHERE key = 'version'")
    later = opened(url)
    with pytest.raises(StoreRefused, match="schema 999"):
        await later.scan()
    await later.close()


async def test_a_failed_put_leaves_nothing_behind(replica: PgvectorReplica):
    too_large = a_state("b", version=2**70)
    with pytest.raises(StoreRefused):
        await replica.put([a_state("a"), too_large])
    with pytest.raises(StoreError):
        await replica.put([a_state("a"), a_state("b", agent_id="nul\0")])
    assert await replica.fetch(["a", "b"]) == []


# --- one database, many users --------------------------------------------------------------------


async def test_workspaces_do_not_see_each_other_and_share_connections(
    url: str, replica: PgvectorReplica, sql: psycopg.Connection
):
    others = [opened(url, workspace=f"w{number}") for number in range(20)]
    await replica.put([a_state("same-id", "mine")])
    await asyncio.gather(*(other.put([a_state("same-id", "theirs")]) for other in others))
    assert [s.record.content for s in await replica.fetch(["same-id"])] == ["mine"]
    assert [s.record.content for s in (await others[7].scan()).records] == ["theirs"]
    await others[7].erase({"same-id": 2})
    assert await found(replica, "mine") == ["same-id"]
    assert await found(others[7], "mine") == []
    ((connections,),) = sql.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'memorywire'"
        " AND pid <> pg_backend_pid()"
    ).fetchall()
    assert connections <= 8
    for other in others:
        await other.close()


_ANOTHER_PROCESS = """
import asyncio, sys
from stores.registry import open_replica
from tests.stores.builders import EMBEDDER, a_state

async def main(url, name):
    replica = open_replica(url, workspace="w", embedder=EMBEDDER)
    for number in range(20):
        await replica.put([a_state(f"{name}-{number}", f"note {number}")])
        await replica.put([a_state("shared", "note", version=number + 1)])
    await replica.close()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_several_processes_fill_one_new_schema(url: str):
    def write(name: str) -> "subprocess.CompletedProcess[bytes]":
        command = [sys.executable, "-c", _ANOTHER_PROCESS, url, name]
        return subprocess.run(command, capture_output=True, check=False)

    results = await asyncio.gather(*(asyncio.to_thread(write, name) for name in "abc"))
    assert [result.stderr for result in results] == [b"", b"", b""]
    replica = opened(url)
    assert len((await replica.scan()).records) == 61
    assert [s.version for s in await replica.fetch(["shared"])] == [20]
    await replica.close()


async def test_writers_of_the_same_memories_never_wait_in_a_circle(url: str):
    replicas = [opened(url) for _ in range(2)]
    states = [a_state(f"m{number}") for number in range(50)]
    for version in range(1, 6):
        mine = [a_state(s.record.id, version=version) for s in states]
        await asyncio.gather(replicas[0].put(mine), replicas[1].put(mine[::-1]))
    assert {s.version for s in (await replicas[0].scan()).records} == {5}
    for replica in replicas:
        await replica.close()


# --- searching -----------------------------------------------------------------------------------


async def test_words_are_found_by_their_stem_and_without_accents(replica: PgvectorReplica):
    await replica.put([a_state("a", "she was running to Zoë's café"), a_state("b", "an evening")])
    for query in ("runs", "cafe", "zoe", "CAFÉ"):
        result = await replica.search(AGENT, text=query, vector=None, limit=1)
        assert [(c.id, c.score) for c in result.candidates] == [("a", 1.0)], query


async def test_rare_words_count_more_and_long_texts_less(replica: PgvectorReplica):
    await replica.put(
        [
            a_state("rare", "the osprey sat"),
            a_state("common", "the train left"),
            a_state("long", "an osprey " + "and then some more of it " * 40),
            *(a_state(f"n{number}", f"train number {number}") for number in range(30)),
        ]
    )
    assert (await found(replica, "osprey train", vector=None))[:2] == ["rare", "long"]


async def test_a_text_of_more_words_than_postgresql_takes_is_found_by_its_first_and_last(
    replica: PgvectorReplica,
):
    letters = [chr(code) for code in range(0x4E00, 0x4E00 + 20_000)]
    content = "first " + "".join(letters[(n * n) % len(letters)] for n in range(99_000)) + " last"
    await replica.put([a_state("a", content), a_state("b", "short"), a_state("c", "x" * 90_000)])
    assert (await found(replica, "first", vector=None))[0] == "a"
    assert (await found(replica, "last", vector=None))[0] == "a"
    assert (await found(replica, "x" * 90_000, vector=None))[0] == "c"


@pytest.mark.parametrize("is_small", [True, False])
async def test_a_big_scope_goes_through_the_index_and_finds_the_same(
    replica: PgvectorReplica, monkeypatch: pytest.MonkeyPatch, is_small: bool
):
    if not is_small:
        monkeypatch.setattr(search, "EXACT_ROWS_MAX", 10)
    states = [a_state(f"m{number:04}", f"w{number % 97} v{number % 89}") for number in range(2_000)]
    noise = [a_state(f"n{number:04}", "w5 v5", agent_id="noisy") for number in range(1_000)]
    await replica.put([*states, *noise])
    vector = EMBEDDER.embed(["w5 v7"])[0]
    result = await replica.search(AGENT, text="?", vector=vector, limit=10)
    by_hand = sorted((float(np.dot(s.vector, vector)) for s in states), reverse=True)[:10]
    assert [c.score * 2 - 1 for c in result.candidates] == pytest.approx(by_hand, abs=1e-5)
    everything = await replica.search(AGENT, text="?", vector=vector, limit=2_500)
    assert len({c.id for c in everything.candidates}) == 2_000
    assert everything.exhausted


async def test_the_index_answers_where_sorting_would_cost_more(
    replica: PgvectorReplica, sql: psycopg.Connection
):
    await replica.put([a_state(f"m{number:04}", f"note {number}") for number in range(1_500)])
    sql.execute(f"ANALYZE {schema.partition('w')}")
    sql.execute("SET enable_sort TO off")
    literal = str(EMBEDDER.embed(["note 5"])[0].tolist())
    plan = sql.execute(
        f"""
        EXPLAIN SELECT id FROM {schema.partition("w")}
        WHERE workspace = 'w' AND agent_id = 'agent' AND is_visible AND embedding IS NOT NULL
        ORDER BY embedding <=> '{literal}' LIMIT 200
        """
    ).fetchall()
    assert any("hnsw" in line or "embedding_idx" in line for (line,) in plan), plan


async def test_each_of_fifty_tenants_is_answered_as_if_it_were_alone(url: str):
    said = ["red bicycle", "apple pie", "trains leave at noon", "a red apple", "the noon train"]
    alone = opened(url, workspace="alone")
    await alone.put([a_state(f"m{number}", content) for number, content in enumerate(said)])
    tenants = [opened(url, workspace=f"tenant {number}") for number in range(25)]
    for tenant in tenants:
        await tenant.put([a_state(f"m{number}", content) for number, content in enumerate(said)])
    crowd = opened(url, workspace="crowd")
    await crowd.put(
        [
            a_state(f"{agent}-m{number}", content, agent_id=f"agent {agent}")
            for agent in range(25)
            for number, content in enumerate(said)
        ]
    )
    vector = EMBEDDER.embed(["red apple"])[0]

    async def answer(replica: Replica, agent_id: str = "agent") -> list[tuple[str, float]]:
        result = await replica.search(
            Scope(agent_id=agent_id), text="red apple", vector=vector, limit=5
        )
        return [(c.id.rpartition("-")[2], round(c.score, 6)) for c in result.candidates]

    expected = await answer(alone)
    assert [await answer(tenant) for tenant in tenants] == [expected] * 25
    assert [await answer(crowd, f"agent {agent}") for agent in range(25)] == [expected] * 25
    for replica in (alone, crowd, *tenants):
        await replica.close()


def test_what_was_stored_outlives_the_loop_it_was_stored_on(url: str, tmp_path: Path):
    async def write() -> None:
        replica = opened(url)
        await replica.put([a_state("a", created_at=NOW)])
        await replica.close()

    async def read() -> list[str]:
        replica = opened(url)
        held = [state.record.id for state in await replica.fetch(["a"])]
        await replica.close()
        return held

    asyncio.run(write())
    assert asyncio.run(read()) == ["a"]
