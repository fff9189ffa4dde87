"""The two that are measured beside each other: our server over HTTP and the peer in process.

Both take the same bodies and answer with how long the call took, so a benchmark is written once.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol
from uuid import uuid4

from benchmarks import peer
from benchmarks.local_server import ROOT, LocalServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """An answer and the wall time of its call, in milliseconds."""

    ms: float
    answer: dict[str, Any]


class Contender(Protocol):
    """Something that remembers and recalls, and can start over."""

    name: str

    def start_over(self) -> None:
        """Continue with an empty memory."""
        ...

    def remember(self, body: dict[str, Any]) -> Timed: ...

    def recall(self, body: dict[str, Any]) -> Timed: ...


class OverHttp:
    """Our server: one client, one connection, JSON to JSON. Starting over takes a new agent.

    The client is the standard library's: a richer one takes a fifth of the time by itself, and it
    is the server that is measured.
    """

    name = "ours over HTTP"

    def __init__(self, connection: HTTPConnection, key: str) -> None:
        self._connection = connection
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._agent_id = ""

    def start_over(self) -> None:
        self._agent_id = f"bench-{uuid4().hex}"
        self._connection.close()  # the server hangs up on who is silent for long; this opens anew

    def remember(self, body: dict[str, Any]) -> Timed:
        return self._post("remember", body)

    def recall(self, body: dict[str, Any]) -> Timed:
        return self._post("recall", body)

    def _post(self, operation: str, body: dict[str, Any]) -> Timed:
        started_at = time.perf_counter()
        text = json.dumps(body | {"agent_id": self._agent_id})
        self._connection.request("POST", f"/v0/{operation}", text.encode(), self._headers)
        response = self._connection.getresponse()
        answer = json.loads(response.read())
        if response.status >= HTTPStatus.BAD_REQUEST:
            raise RuntimeError(f"{operation} was answered {response.status}: {answer}")
        return Timed(ms=(time.perf_counter() - started_at) * 1000, answer=answer)


class InProcess:
    """The peer: its own process, its store in a new file whenever it starts over."""

    def __init__(self, name: str, process: "subprocess.Popen[str]", folder: Path) -> None:
        self.name = name
        self._process = process
        self._folder = folder

    def start_over(self) -> None:
        self._order({"call": "open", "path": str(self._folder / f"{uuid4().hex}.db")})

    def remember(self, body: dict[str, Any]) -> Timed:
        return self._order({"call": "remember", "body": body | {"agent_id": "bench"}})

    def recall(self, body: dict[str, Any]) -> Timed:
        return self._order({"call": "recall", "body": body | {"agent_id": "bench"}})

    def _order(self, order: dict[str, Any]) -> Timed:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the peer ended: see its traceback above")
        return Timed(**json.loads(line))


@contextmanager
def ours(server: LocalServer) -> Iterator[OverHttp]:
    """Our side, for a started server."""
    with closing(HTTPConnection("127.0.0.1", server.port, timeout=30)) as connection:
        yield OverHttp(connection, server.key)


@contextmanager
def theirs(*, as_installed: bool = False) -> Iterator[InProcess]:
    """The peer's side, with its files in a folder that is gone afterwards.

    It runs the model as we do, or, ``as_installed``, as it does by default: on torch.
    """
    name = f"memorywire {peer.VERSION}" + (", torch" if as_installed else "")
    with TemporaryDirectory(prefix="memorywire-peer-") as folder:
        process = subprocess.Popen(
            [
                *(str(peer.python(as_installed=as_installed)), "-m", "benchmarks.peer_worker"),
                *(["as-installed"] if as_installed else []),
            ],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            yield InProcess(name, process, Path(folder))
        finally:
            process.communicate(timeout=20)  # the end of its input ends it
