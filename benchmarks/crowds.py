"""Many clients at once against several server processes that share one ledger.

    python -m benchmarks.crowds writers   [--servers 4] [--clients 16] [--each 200]
    python -m benchmarks.crowds reviewers [--servers 2] [--people 20] [--items 100] [--grown]

``writers``: each client stores its memories one after the other, while a command line makes keys
and takes backups. Every write must be answered 200 and be there once, with its audit row.
``reviewers``: everybody tries to decide every proposal at the same time, each attempt sent twice as
by a double click. Every proposal must be decided once, and every loser be told by whom. With
``--grown`` the ledger is in PostgreSQL and the processes share a Redis; both come from packages.
"""

import argparse
import random
import re
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import psycopg

from benchmarks.local_server import LocalServer, free_port, installed, serving

_FIELD = re.compile(r'name="(csrfmiddlewaretoken|shown)" value="([^"]+)"')
_PASSWORD = re.compile(r"Password, shown this once: (\S+)")


@dataclass(slots=True)
class Report:
    """What was found; ``problems`` is empty if all is as it should be."""

    lines: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def expect(self, what: str, found: object, expected: object) -> None:
        self.lines.append(f"{what}: {found}")
        if found != expected:
            self.problems.append(f"{what}: {found}, not {expected}")


@contextmanager
def several(count: int, *, grown: bool = False) -> Iterator[list[LocalServer]]:
    """Processes that serve one installation, each on a port of its own."""
    with installed(**_grown() if grown else {}) as first, ExitStack() as stack:
        servers = [first]
        servers += [
            replace(first, address=f"http://127.0.0.1:{free_port()}") for _ in range(count - 1)
        ]
        for server in servers:
            # A key of a crowd is no agent's: it calls as often as it can.
            stack.enter_context(serving(server, calls_per_minute="0"))
        yield servers


def _grown() -> dict[str, str]:
    from tests import servers

    return {"database_url": servers.postgres().bound_role(), "redis_url": servers.redis().url}


def writers(*, servers: int, clients: int, each: int) -> Report:
    """Every client's writes are stored, once, however many write."""
    report, seconds, statuses = Report(), [], Counter[int]()
    with several(servers) as running:
        first = running[0]

        def write(number: int) -> None:
            server = running[number % len(running)]
            with replace(server, key=first.key).client() as client:
                for item in range(each):
                    body = {
                        "agent_id": f"agent-{number}",
                        "type": "semantic",
                        "content": f"client {number} says {item}",
                    }
                    began = time.perf_counter()
                    answer = client.post("/v0/remember", json=body)
                    seconds.append(time.perf_counter() - began)
                    statuses[answer.status_code] += 1

        with _command_line(first) as commands, ThreadPoolExecutor(clients) as pool:
            list(pool.map(write, range(clients)))
        report.expect("answers", dict(statuses), {200: clients * each})
        report.expect("commands that failed meanwhile", commands, [])
        _check_ledger(first, report, memories=clients * each)
    cuts = statistics.quantiles(seconds, n=100)
    report.lines.append(
        f"{clients} clients x {each}, {servers} server processes:"
        f" p50 {cuts[49] * 1000:.0f} ms, p99 {cuts[98] * 1000:.0f} ms"
    )
    return report


@contextmanager
def _command_line(server: LocalServer) -> Iterator[list[str]]:
    """Somebody at the command line meanwhile; what failed."""
    failed: list[str] = []
    done = threading.Event()

    def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            number = 0
            while not done.is_set():
                number += 1
                for arguments in (
                    ("apikey", "create", "--agents", "all", "--scopes", "recall"),
                    ("backup", str(Path(folder) / f"{number}.tar")),
                ):
                    try:
                        server.manage(*arguments)
                    except RuntimeError as error:
                        failed.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield failed
    finally:
        done.set()
        thread.join()


def _check_ledger(server: LocalServer, report: Report, *, memories: int) -> None:
    kept = _rows(server, "SELECT id FROM governance_memory")
    rows = _rows(server, "SELECT id FROM governance_auditrow WHERE action = 'memory.remembered'")
    report.expect("memories in the ledger", len(kept), memories)
    report.expect("their audit rows", len(rows), memories)
    report.expect("integrity check", _rows(server, "PRAGMA integrity_check"), [("ok",)])
    report.lines.append(f"audit verify: {server.manage('audit', 'verify').strip()}")


def _rows(server: LocalServer, statement: str) -> list[tuple[Any, ...]]:
    """Of the ledger, past the walls between workspaces."""
    if url := server.settings.get("database_url"):
        with psycopg.connect(url) as grown:
            grown.execute("SELECT set_config('memorywire.workspace', '*', false)")
            return grown.execute(statement.encode()).fetchall()
    with closing(sqlite3.connect(server.home / "ledger.sqlite3")) as embedded:
        return embedded.execute(statement).fetchall()


def reviewers(*, servers: int, people: int, items: int, grown: bool = False) -> Report:
    """Every proposal is decided once, and whoever comes too late learns by whom."""
    report = Report()
    with several(servers, grown=grown) as running:
        first = running[0]
        reviews = [_stage(first, number, report) for number in range(items)]
        names = {f"Reviewer {number:02}": _login(first, number) for number in range(people)}
        crowd = [
            _Reviewer(running[number % len(running)].address, name, *login)
            for number, (name, login) in enumerate(names.items())
        ]
        shown = {review: crowd[0].shown(review) for review in reviews}
        start = threading.Barrier(people)

        def decide(reviewer: _Reviewer) -> list[tuple[str, str, int, str]]:
            order = random.Random(reviewer.name).sample(reviews, len(reviews))
            start.wait()
            return [each for review in order for each in reviewer.twice(review, shown[review])]

        with ThreadPoolExecutor(people) as pool:
            attempts = [each for told in pool.map(decide, crowd) for each in told]
        _check_decisions(first, report, reviews, attempts)
        for reviewer in crowd:
            reviewer.close()
    return report


def _stage(server: LocalServer, number: int, report: Report) -> str:
    """One proposal, asked for ten times; the id of its review."""
    body = {
        "agent_id": "concierge",
        "type": "semantic",
        "content": f"proposal {number}",
        "approval_required": True,
    }
    with server.client() as client:
        answers = {client.post("/v0/remember", json=body).json()["approval_url"] for _ in range(10)}
    if len(answers) != 1:
        report.problems.append(f"one proposal sent ten times became {len(answers)}")
    return str(answers.pop()).rsplit("/", 1)[1]


def _login(server: LocalServer, number: int) -> tuple[str, str]:
    email = f"reviewer{number}@example.com"
    said = server.manage("member", "add", email, "--name", f"Reviewer {number:02}")
    found = _PASSWORD.search(said)
    assert found, said
    return email, found.group(1)


class _Reviewer:
    """A person at a browser of their own."""

    def __init__(self, address: str, name: str, email: str, password: str) -> None:
        self.name = name
        self._client = httpx.Client(
            base_url=address, headers={"Origin": address, "Referer": f"{address}/"}, timeout=60
        )
        self._token = self._fields("/login")["csrfmiddlewaretoken"]
        form = {"csrfmiddlewaretoken": self._token, "login": email, "password": password}
        assert self._client.post("/login", data=form).status_code == 302, "the log-in was refused"
        self._token = self._fields("/queue")["csrfmiddlewaretoken"]

    def close(self) -> None:
        self._client.close()

    def shown(self, review: str) -> str:
        return self._fields(f"/proposals/{review}")["shown"]

    def twice(self, review: str, shown: str) -> list[tuple[str, str, int, str]]:
        """Decide with a double click: name, review, status and page of each answer."""
        verdict = "approve" if hash((self.name, review)) % 2 else "reject"
        form = {"csrfmiddlewaretoken": self._token, "shown": shown, "verdict": verdict}

        def click(_: int) -> httpx.Response:
            return self._client.post(f"/proposals/{review}/decision", data=form)

        with ThreadPoolExecutor(2) as clicks:
            answers = list(clicks.map(click, range(2)))
        return [(self.name, review, answer.status_code, answer.text) for answer in answers]

    def _fields(self, path: str) -> dict[str, str]:
        return dict(_FIELD.findall(self._client.get(path).text))


def _check_decisions(
    server: LocalServer,
    report: Report,
    reviews: Sequence[str],
    attempts: Sequence[tuple[str, str, int, str]],
) -> None:
    decided = _rows(
        server,
        "SELECT review_id, name FROM governance_decision"
        " JOIN governance_user ON governance_user.id = person_id",
    )
    rows = _rows(
        server,
        "SELECT review_id FROM governance_auditrow"
        " WHERE action IN ('memory.approved', 'memory.rejected')",
    )
    winners = dict(decided)
    report.expect("decisions", len(decided), len(reviews))
    report.expect("proposals decided", len(winners), len(reviews))
    report.expect("audit rows of decisions", len(rows), len(reviews))
    report.expect("attempts by status", *_statuses(attempts, len(reviews)))
    silent = [
        name
        for name, review, status, page in attempts
        if status == 409 and winners[review] not in page
    ]
    report.expect("losers who were not told by whom", len(silent), 0)
    report.lines.append(f"audit verify: {server.manage('audit', 'verify').strip()}")


def _statuses(
    attempts: Sequence[tuple[str, str, int, str]], items: int
) -> tuple[dict[int, int], dict[int, int]]:
    found = dict(sorted(Counter(status for _, _, status, _ in attempts).items()))
    return found, {303: items, 409: len(attempts) - items}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    crowds = parser.add_subparsers(dest="crowd", required=True)
    many = crowds.add_parser("writers")
    many.add_argument("--servers", type=int, default=4)
    many.add_argument("--clients", type=int, default=16)
    many.add_argument("--each", type=int, default=200)
    deciding = crowds.add_parser("reviewers")
    deciding.add_argument("--servers", type=int, default=2)
    deciding.add_argument("--people", type=int, default=20)
    deciding.add_argument("--items", type=int, default=100)
    deciding.add_argument("--grown", action="store_true", help="PostgreSQL and Redis")
    options = vars(parser.parse_args())
    report = {"writers": writers, "reviewers": reviewers}[options.pop("crowd")](**options)
    print("\n".join(report.lines))
    for problem in report.problems:
        print(f"PROBLEM {problem}")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
