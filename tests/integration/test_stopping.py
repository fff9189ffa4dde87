"""SIGTERM: what was begun is finished, nothing that was noted is lost, and it is no failure."""

import json
import socket
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import httpx
import pytest

from benchmarks.local_server import LocalServer, installed, serving

GRACE_SECONDS = 10
PENDING = {
    "agent_id": "a",
    "type": "semantic",
    "content": "Bob prefers coffee",
    "approval_required": True,
}
BODY = {"agent_id": "a", "type": "semantic", "content": "Bob prefers tea"}


class HalfSent:
    """A request of which the server has the head and half the body."""

    def __init__(self, server: LocalServer) -> None:
        body = json.dumps(BODY).encode()
        head = (
            f"POST /v0/remember HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
            f"Content-Type: application/json\r\nAuthorization: Bearer {server.key}\r\n\r\n"
        )
        self._rest = body[10:]
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        self._socket.sendall(head.encode() + body[:10])

    def finish(self) -> bytes:
        """Send the rest; the whole answer."""
        self._socket.sendall(self._rest)
        with self._socket, self._socket.makefile("rb") as answer:
            return answer.read()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """What was seen of a server that was asked to stop in the middle of its work."""

    exit_code: int
    seconds: float
    half_sent: bytes
    waiter: httpx.Response
    log: str
    times_recalled: list[int]


@pytest.fixture(scope="module")
def stopped() -> Iterator[Stopped]:
    with (
        installed() as server,
        ThreadPoolExecutor(1) as threads,
        serving(server, log_level="INFO") as process,
        server.client() as client,
    ):
        client.post("/v0/remember", json={**BODY, "content": "Alice likes jazz"})
        operation = client.post("/v0/remember", json=PENDING).headers["Location"]
        waiter: Future[httpx.Response] = threads.submit(client.get, f"{operation}?wait=30")
        half = HalfSent(server)
        time.sleep(0.3)  # both have been taken up
        with server.client() as another:
            another.post("/v0/recall", json={"agent_id": "a", "query": "jazz"})
        begun = time.monotonic()
        process.terminate()
        time.sleep(0.5)
        answer = half.finish()
        code = process.wait(timeout=20)
        yield Stopped(
            exit_code=code,
            seconds=time.monotonic() - begun,
            half_sent=answer,
            waiter=waiter.result(),
            log=(server.home / "server.log").read_text(),
            times_recalled=_times_recalled(server),
        )


def _times_recalled(server: LocalServer) -> list[int]:
    ledger = sqlite3.connect(server.home / "ledger.sqlite3")
    return [times for (times,) in ledger.execute("SELECT times FROM governance_recalled")]


def test_it_ends_in_time_and_without_an_error(stopped: Stopped) -> None:
    assert stopped.exit_code == 0, stopped.log
    assert stopped.seconds < GRACE_SECONDS
    assert "Traceback" not in stopped.log
    assert "did not stop" not in stopped.log


def test_a_request_in_flight_is_answered(stopped: Stopped) -> None:
    assert stopped.half_sent.startswith(b"HTTP/1.1 200 OK")
    assert b'"id"' in stopped.half_sent


def test_who_waits_for_a_person_is_answered_at_once(stopped: Stopped) -> None:
    assert stopped.waiter.status_code == 200
    assert stopped.waiter.json()["pending_approval"] is True


def test_what_was_recalled_a_moment_before_is_kept(stopped: Stopped) -> None:
    assert stopped.times_recalled == [1]
