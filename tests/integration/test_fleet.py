"""docker-compose.yml without Docker: each service's command as written, on real servers.

PostgreSQL and Redis come from packages; the images and the proxy are not run.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
import yaml
from websockets.sync.client import connect

from benchmarks.local_server import ROOT, LocalServer, free_port
from tests import servers
from tests.browser.person import Person

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
#: What the images bring into the path.
PROGRAMS = {
    "memorywire": [sys.executable, "manage.py"],
    "celery": [sys.executable, "-m", "celery"],
}


def test_the_file_says_what_the_documentation_promises() -> None:
    assert set(SERVICES) == {
        *("setup", "web-1", "web-2", "worker-1", "worker-2", "beat"),
        *("proxy", "postgres", "redis"),
    }
    for name, service in SERVICES.items():
        assert "healthcheck" in service or name in {"setup", "beat"}, name
        for needed in service.get("depends_on", {}):
            assert needed in SERVICES
        for mount in service.get("volumes", []):
            assert mount.split(":")[0] in COMPOSE["volumes"]
        for config in service.get("configs", []):
            assert config["source"] in COMPOSE["configs"]
    ours = [service for service in SERVICES.values() if service.get("image") == "memorywire"]
    assert all(service["command"][0] in PROGRAMS for service in ours)
    nginx = COMPOSE["configs"]["nginx"]["content"]
    assert all(f"server {name}:8000;" in nginx for name in ("web-1", "web-2"))
    assert (ROOT / SERVICES["setup"]["build"]["dockerfile"]).is_file()


class Fleet:
    """The services of the file, each a process."""

    def __init__(self, home: Path, database_url: str, redis_url: str) -> None:
        self.home, self.database_url = home, database_url
        self._changed = {
            "MEMORYWIRE_HOME": str(home),
            "MEMORYWIRE_DATABASE_URL": database_url,
            "MEMORYWIRE_REDIS_URL": redis_url,
            "MEMORYWIRE_SWEEP_INTERVAL_SECONDS": "1",
            "MEMORYWIRE_LOG_LEVEL": "WARNING",
            "DJANGO_SETTINGS_MODULE": "memorywire_site.settings",
        }

    def command(self, service: str) -> list[str]:
        program, *rest = SERVICES[service]["command"]
        schedule = str(self.home / "beat")
        return [*PROGRAMS[program], *(word.replace("/tmp/beat", schedule) for word in rest)]

    def environment(self, service: str, **more: str) -> dict[str, str]:
        said = {
            name: value
            for name, value in SERVICES[service]["environment"].items()
            if "${" not in value
        }
        clean = {name: each for name, each in os.environ.items() if "MEMORYWIRE_" not in name}
        return {**clean, **said, **self._changed, **more}

    @contextmanager
    def running(self, service: str, **more: str) -> Iterator["subprocess.Popen[bytes]"]:
        with open(self.home / f"{service}.log", "a") as log:
            process = subprocess.Popen(
                self.command(service),
                cwd=ROOT,
                env=self.environment(service, **more),
                stdout=log,
                stderr=log,
            )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0, self.log_of(service)

    def log_of(self, service: str) -> str:
        return (self.home / f"{service}.log").read_text()


@pytest.fixture(scope="module")
def fleet() -> Iterator[tuple[Fleet, list[LocalServer]]]:
    """Two web processes, two workers and beat, all of them answering."""
    with tempfile.TemporaryDirectory(prefix="memorywire-fleet-") as folder, ExitStack() as stack:
        home = Path(folder)
        fleet = Fleet(home, servers.postgres().bound_role(), servers.redis().url)
        done = subprocess.run(
            fleet.command("setup"),
            cwd=ROOT,
            env=fleet.environment("setup"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        webs = []
        for name in ("web-1", "web-2"):
            port = free_port()
            stack.enter_context(fleet.running(name, MEMORYWIRE_PORT=str(port)))
            webs.append(_server(fleet, port))
        for name in ("worker-1", "worker-2", "beat"):
            stack.enter_context(fleet.running(name))
        for web, name in zip(webs, ("web-1", "web-2"), strict=True):
            _until(lambda at=web: _is_ready(at), lambda name=name: fleet.log_of(name))
        yield fleet, webs


def _server(fleet: Fleet, port: int) -> LocalServer:
    note = json.loads((fleet.home / "secrets" / "first-login.json").read_text())
    return LocalServer(
        address=f"http://127.0.0.1:{port}",
        home=fleet.home,
        email=note["email"],
        password=note["password"],
        key=note["key"],
    )


def _is_ready(server: LocalServer) -> bool:
    try:
        return httpx.get(f"{server.address}/readyz").status_code == 200
    except httpx.TransportError:
        return False


def _until(holds: Callable[[], bool], otherwise: Callable[[], str], *, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, otherwise()
        time.sleep(0.1)


def _remember(server: LocalServer, content: str, **extra: Any) -> dict[str, Any]:
    body = {"agent_id": "concierge", "type": "semantic", "content": content, **extra}
    with server.client() as client:
        answer = client.post("/v0/remember", json=body)
    assert answer.status_code in {200, 202}, answer.text
    return dict(answer.json())


def test_what_one_web_process_is_told_appears_live_at_the_other(
    fleet: tuple[Fleet, list[LocalServer]],
) -> None:
    _, (one, other) = fleet
    with Person(other.address, email=other.email, password=other.password) as person:
        socket = connect(
            f"ws{other.address.removeprefix('http')}/live",
            additional_headers={"Cookie": person.cookies, "Origin": other.address},
        )
        with socket:
            made = _remember(one, "Two processes, one queue.", approval_required=True)
            assert "cursor" in socket.recv(timeout=5)
        person.approve(urlsplit(made["approval_url"]).path)
    with one.client() as client:
        asked = {"agent_id": "concierge", "query": "How many processes?"}
        found = client.post("/v0/recall", json=asked).json()["results"]
    assert [hit["id"] for hit in found] == [made["id"]]


def test_a_session_of_one_is_good_at_the_other(fleet: tuple[Fleet, list[LocalServer]]) -> None:
    _, (one, other) = fleet
    with Person(one.address, email=one.email, password=one.password) as person:
        headers = {"Cookie": person.cookies}
        assert httpx.get(f"{other.address}/queue", headers=headers).status_code == 200


def test_beat_and_a_worker_sweep_what_has_expired(fleet: tuple[Fleet, list[LocalServer]]) -> None:
    started, (one, _) = fleet
    soon = int(time.time() * 1000) + 1_500
    made = _remember(one, "Gone in a moment.", expires_at=soon)
    sweeps = "SELECT count(*) FROM governance_auditrow WHERE action = 'memory.expired'"
    with psycopg.connect(started.database_url, autocommit=True) as ledger:
        ledger.execute("SELECT set_config('memorywire.workspace', '*', false)")

        def swept() -> bool:
            row = ledger.execute(f"{sweeps} AND memory_id = %s", [made["id"]]).fetchone()
            assert row is not None
            assert row[0] <= 1, "two workers, one row"
            return bool(row[0])

        _until(swept, lambda: started.log_of("worker-1") + started.log_of("beat"), seconds=30)
        time.sleep(2)
        assert swept()


def test_a_key_limit_is_counted_for_all_processes_together(
    fleet: tuple[Fleet, list[LocalServer]],
) -> None:
    started, (one, other) = fleet
    made = subprocess.run(
        [
            *(*PROGRAMS["memorywire"], "apikey", "create", "--agents", "all"),
            *("--scopes", "recall", "--calls-per-minute", "4"),
        ],
        cwd=ROOT,
        env=started.environment("setup"),
        capture_output=True,
        text=True,
        check=True,
    )
    asked = {"agent_id": "concierge", "query": "anything"}
    left_of_the_minute = 60 - time.time() % 60
    if left_of_the_minute < 15:
        time.sleep(left_of_the_minute)  # all six calls in one minute
    statuses = []
    for server in (one, other) * 3:
        with replace(server, key=made.stdout.strip()).client() as client:
            statuses.append(client.post("/v0/recall", json=asked).status_code)
    assert statuses == [*[200] * 4, *[429] * 2]
