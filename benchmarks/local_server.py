"""The real server in a process of its own, on a fresh data folder: for figures and tests."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How the command line is called, and in which folder."""

    arguments: tuple[str, ...] = (sys.executable, "manage.py")
    folder: Path = ROOT


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalServer:
    """Where a started server is, and how to get in."""

    program: Program = field(default_factory=Program)
    settings: Mapping[str, str] = field(default_factory=dict)
    """MEMORYWIRE_ variables in short, of everything that runs on the data folder."""
    address: str
    home: Path
    email: str
    password: str
    key: str

    @property
    def port(self) -> int:
        return int(self.address.rsplit(":", 1)[1])

    def manage(self, *arguments: str, **settings: str) -> str:
        """Run a management command on its data folder; what it printed."""
        together = {**self.settings, **settings}
        return _manage(self.program, self.home, self.port, together, *arguments)

    def environment(self, **settings: str) -> dict[str, str]:
        """Of a process that works on its data folder."""
        return _environment(self.home, self.port, {**self.settings, **settings})

    def client(self) -> httpx.Client:
        """A client that sends the first key."""
        return httpx.Client(
            base_url=self.address, headers={"Authorization": f"Bearer {self.key}"}, timeout=30
        )


@contextmanager
def started(*, samples: bool = False, **settings: str) -> Iterator[LocalServer]:
    """Set up and serve until the block ends. ``settings`` as ``LocalServer`` has them."""
    with installed(samples=samples, **settings) as server, serving(server):
        yield server


@contextmanager
def installed(
    *, samples: bool = False, program: Program | None = None, **settings: str
) -> Iterator[LocalServer]:
    """A data folder that is set up and that nothing serves yet."""
    program = program or Program()
    with tempfile.TemporaryDirectory(prefix="memorywire-server-") as folder:
        home, port = Path(folder), free_port()
        _manage(program, home, port, settings, "setup", *([] if samples else ["--no-samples"]))
        note = json.loads((home / "secrets" / "first-login.json").read_text())
        yield LocalServer(
            program=program,
            settings=settings,
            address=f"http://127.0.0.1:{port}",
            home=home,
            email=note["email"],
            password=note["password"],
            key=note["key"],
        )


@contextmanager
def serving(server: LocalServer, **settings: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Serve an installation until the block ends, or until it has ended by itself."""
    with open(server.home / "server.log", "a") as log:
        process = subprocess.Popen(
            [*server.program.arguments, "serve"],
            cwd=server.program.folder,
            env=server.environment(**settings),
            stdout=log,
            stderr=log,
        )
        try:
            _wait_until_it_answers(server, process)
            yield process
        finally:
            process.terminate()
            process.wait(timeout=20)


def _wait_until_it_answers(server: LocalServer, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            httpx.get(f"{server.address}/v0/health")
            return
        except httpx.TransportError:
            time.sleep(0.1)
    log = (server.home / "server.log").read_text()
    raise RuntimeError(f"the server did not start:\n{log}")


def _manage(
    program: Program, home: Path, port: int, settings: Mapping[str, str], *arguments: str
) -> str:
    done = subprocess.run(
        [*program.arguments, *arguments],
        cwd=program.folder,
        env=_environment(home, port, settings),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def _environment(home: Path, port: int, settings: Mapping[str, str]) -> dict[str, str]:
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith("MEMORYWIRE_")
    }
    return clean | {
        "MEMORYWIRE_HOME": str(home),
        "MEMORYWIRE_PORT": str(port),
        "MEMORYWIRE_LOG_LEVEL": "WARNING",
        "DJANGO_SETTINGS_MODULE": "memorywire_site.settings",
        **{f"MEMORYWIRE_{name.upper()}": value for name, value in settings.items()},
    }


def free_port() -> int:
    """One that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
