"""The product as it is started: set up, served, stopped, started again."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx
import pytest

from benchmarks.local_server import ROOT, LocalServer, started
from governance.clock import now_ms

EXPIRY_MS = 1_500


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    with started(samples=True, sweep_interval_seconds="0.5") as running:
        yield running


def test_health_is_public_and_ready(server: LocalServer) -> None:
    body = httpx.get(f"{server.address}/v0/health").json()
    assert body["status"] == "ready"
    assert body["stores"] == {"sqlite-vec": True}


def test_the_first_start_makes_a_dozen_proposals_of_different_kinds(server: LocalServer) -> None:
    log = server.manage("audit", "verify")
    assert "All is well" in log
    with server.client() as client:
        answer = client.post(
            "/v0/recall", json={"agent_id": "concierge-7", "query": "allergy", "k": 50}
        )
    assert len(answer.json()["results"]) == 3  # none of the twelve that wait


def test_a_second_setup_finds_all_in_place(server: LocalServer) -> None:
    before = server.manage("apikey", "list")
    server.manage("setup")
    assert server.manage("apikey", "list") == before
    note = json.loads((server.home / "secrets" / "first-login.json").read_text())
    assert note["key"] == server.key


def test_links_and_request_ids_are_the_servers_own(server: LocalServer) -> None:
    with server.client() as client:
        answer = client.post(
            "/v0/remember",
            json={
                "agent_id": "a",
                "type": "semantic",
                "content": "Bob prefers tea",
                "approval_required": True,
            },
            headers={"X-Request-ID": "trace-77"},
        )
    assert answer.status_code == 202
    assert answer.headers["X-Request-ID"] == "trace-77"
    assert answer.json()["approval_url"].startswith(f"{server.address}/proposals/")


def test_the_worker_inside_the_process_sweeps_what_expired(server: LocalServer) -> None:
    with server.client() as client:
        client.post(
            "/v0/remember",
            json={
                "agent_id": "a",
                "type": "semantic",
                "content": "short-lived",
                "expires_at": now_ms() + EXPIRY_MS,
            },
        ).raise_for_status()
    deadline = time.monotonic() + 20
    count = "0"
    while time.monotonic() < deadline and count != "1":
        time.sleep(0.5)
        count = server.manage(
            "shell",
            "--no-imports",
            "--command",
            "from governance.models import AuditRow as R;"
            " print(R.objects.filter(action='memory.expired').count())",
        ).strip()
    assert count == "1"
    assert "All is well" in server.manage("audit", "verify")


def test_a_body_that_is_no_json_is_400_and_one_too_large_413(server: LocalServer) -> None:
    with server.client() as client:
        assert client.post("/v0/recall", content=b"{").status_code == 400
        too_large = b'{"agent_id":"' + b"a" * 1_100_000 + b'"}'
        answer = client.post("/v0/recall", content=too_large)
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def test_an_unknown_path_or_method_is_no_server_error(server: LocalServer) -> None:
    with server.client() as client:
        assert client.get("/v0/nothing").status_code == 404
        assert client.get("/v0/remember").status_code == 405
        assert client.post("/v0/health").status_code == 405


def test_a_wrong_setting_stops_serve_with_its_name() -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "serve"],
        cwd=ROOT,
        env={"MEMORYWIRE_PORT": "none", "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "MEMORYWIRE_PORT" in done.stderr
