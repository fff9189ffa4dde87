"""The way docs/operations.md gives for a ledger in PostgreSQL: a dump, the secrets, and back."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from benchmarks.local_server import LocalServer, free_port, installed, serving
from tests.servers import PostgresServer

FACT = {"agent_id": "a", "type": "semantic", "content": "Alice is allergic to peanuts"}
QUERY = {"agent_id": "a", "query": "peanut allergy", "k": 1}


def test_a_dump_and_the_secrets_bring_everything_back(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    url = postgres.bound_role()
    name = url.rsplit("/", 1)[1]
    dump = tmp_path / "memorywire.dump"
    with installed(database_url=url) as server:
        with pytest.raises(RuntimeError, match="pg_dump"):
            server.manage("backup", str(tmp_path / "backup.tar"))
        with serving(server):
            remembered = _post(server, "/v0/remember", FACT)["id"]
            _run(postgres, "pg_dump", "--format=custom", f"--file={dump}", postgres.url(name))
            shutil.copytree(server.home / "secrets", tmp_path / "home" / "secrets")
            _post(server, "/v0/remember", {**FACT, "content": "After the dump"})
        fresh = f"{name}_restored"
        with psycopg.connect(postgres.url(), autocommit=True) as owner:
            new, role = sql.Identifier(fresh), sql.Identifier(name)
            owner.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(new, role))
        _run(postgres, "pg_restore", "--exit-on-error", "--dbname", postgres.url(fresh), str(dump))
        restored = replace(
            server,
            home=tmp_path / "home",
            address=f"http://127.0.0.1:{free_port()}",
            settings={"database_url": url.removesuffix(name) + fresh},
        )
        restored.manage("setup", "--no-samples")
        assert "All is well" in restored.manage("audit", "verify")
        restored.manage("stores", "repair")
        with serving(restored):
            (hit,) = _post(restored, "/v0/recall", {**QUERY, "k": 9})["results"]
            assert (hit["id"], hit["source_store"]) == (remembered, "pgvector")


def _post(
    server: LocalServer, path: str, body: dict[str, object]
) -> dict[str, list[dict[str, object]]]:
    with server.client() as client:
        return dict(client.post(path, json=body).raise_for_status().json())


def _run(postgres: PostgresServer, program: str, *arguments: str) -> None:
    done = subprocess.run(
        [postgres.programs / program, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
