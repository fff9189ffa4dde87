"""Kill a writing process again and again, then hold the ledger against its log.

    python -m benchmarks.kill_writer --cycles 200

Each cycle forks a writer that remembers, stages, approves, forgets and erases as fast as it can and
reports every acknowledged operation through a pipe, and kills it with SIGKILL at a random moment.
At the end every acknowledged operation must be there, and the audit log must verify.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

KILL_WITHIN_SECONDS = 0.06


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the campaign did and found. ``problems`` is empty if nothing was lost."""

    cycles: int
    acknowledged: int
    memories: int
    audit_rows: int
    seconds: float
    problems: list[str]


def run(cycles: int, *, seed: int = 1) -> Report:
    """Run the campaign in this process, which must not have started Django yet."""
    home = tempfile.mkdtemp(prefix="memorywire-kill-")
    os.environ |= {"MEMORYWIRE_HOME": home, "MEMORYWIRE_LOG_LEVEL": "ERROR"}
    os.environ["DJANGO_SETTINGS_MODULE"] = "memorywire_site.settings"
    started = time.monotonic()
    try:
        key, reviewer_id = _prepare()
        chance = random.Random(seed)
        acknowledged: list[dict[str, Any]] = []
        for cycle in range(cycles):
            acknowledged += _one_cycle(key, reviewer_id, chance, seed=seed * 100_000 + cycle)
        return _inspect(cycles, acknowledged, started)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _prepare() -> tuple[str, int]:
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connections

    import governance.embedding
    from governance import access
    from governance.clock import now_ms
    from governance.models import Membership, Role, Scope, User
    from stores.testing import HashEmbedder

    # The ledger is on trial, not the model; and onnxruntime does not survive a fork.
    governance.embedding.open_embedder = lambda name: HashEmbedder()
    call_command("migrate", verbosity=0)
    workspace = access.create_workspace(slug="kill", name="Kill", now_ms=now_ms())
    owner = access.create_service_account(workspace, "agents")
    _, key = access.create_key(
        workspace.pk, owner, scopes=list(Scope), agents=None, now_ms=now_ms()
    )
    reviewer = User.objects.create_user("reviewer@example.com", None, name="Reviewer")
    Membership.objects.create(workspace=workspace, user=reviewer, roles=[Role.REVIEWER.value])
    connections.close_all()  # a connection must not cross a fork
    return key, reviewer.pk


def _one_cycle(
    key: str, reviewer_id: int, chance: random.Random, *, seed: int
) -> Iterator[dict[str, Any]]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            asyncio.run(_write_until_killed(key, reviewer_id, writing, seed))
        finally:
            os._exit(3)  # only reached if the writer failed by itself
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        first = pipe.readline()
        time.sleep(chance.uniform(0, KILL_WITHIN_SECONDS))
        os.kill(child, signal.SIGKILL)
        rest = pipe.read()
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        raise RuntimeError("the writer ended by itself: see its traceback above")
    # A torn last line was never acknowledged whole.
    for line in (first + rest).split(b"\n")[:-1]:
        yield json.loads(line)


async def _write_until_killed(key: str, reviewer_id: int, pipe: int, seed: int) -> None:
    from governance import access, execution, memory, review
    from governance.clock import now_ms
    from governance.decision import Ballot, decide
    from governance.gate import Call
    from governance.models import Review, User, Verdict
    from stores.wire import ForgetRequest, RememberRequest

    chance = random.Random(seed)
    principal = await execution.read(access.authenticate, key, now_ms=now_ms())
    reviewer = await execution.read(User.objects.get, pk=reviewer_id)
    live: list[str] = []
    waiting: list[str] = []

    def call() -> Call:
        return Call(principal=principal, request_id="kill", now_ms=now_ms())

    def acknowledge(what: str, memory_id: str) -> None:
        os.write(pipe, json.dumps({"what": what, "id": memory_id}).encode() + b"\n")

    def open_review(memory_id: str) -> tuple[str, str]:
        found = Review.objects.select_related("operation__seal_key").get(
            targets__contains=memory_id, status="pending"
        )
        return found.pk, review.case_of(found, now_ms=now_ms()).digest

    for number in range(1_000_000):
        choice = chance.random()
        if choice < 0.4 or not (live or waiting):
            staged = chance.random() < 0.5
            request = RememberRequest(
                agent_id="a",
                type="semantic",  # type: ignore[arg-type]
                content=f"fact {seed} {number}",
                approval_required=staged,
            )
            made = (await memory.remember(call(), request)).response
            acknowledge("staged" if staged else "live", made.id)
            (waiting if staged else live).append(made.id)
        elif choice < 0.7 and waiting:
            chosen = waiting.pop()
            review_id, shown = await execution.read(open_review, chosen)
            ballot = Ballot(
                user=reviewer, review_id=review_id, verdict=Verdict.APPROVE, shown=shown
            )
            await decide(ballot)
            acknowledge("live", chosen)
            live.append(chosen)
        elif live:
            chosen = live.pop()
            hard = chance.random() < 0.5
            request_ = ForgetRequest(agent_id="a", ids=[chosen], hard_delete=hard)
            await memory.forget(call(), request_)
            acknowledge("erased" if hard else "forgotten", chosen)


def _inspect(cycles: int, acknowledged: list[dict[str, Any]], started: float) -> Report:
    from django.db import connection

    from governance import audit, stores_runtime
    from governance.models import AuditRow, Memory

    problems = [f"{finding.where}: {finding.problem}" for finding in audit.verify()]
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA integrity_check")
        if (answer := cursor.fetchone()[0]) != "ok":
            problems.append(f"integrity_check: {answer}")
    last = {item["id"]: item["what"] for item in acknowledged}
    for memory_id, what in last.items():
        found = Memory.objects.filter(pk=memory_id).first()
        if found is None or not _is_at_least(found, what):
            problems.append(f"acknowledged as {what} and lost: {memory_id}")
    problems += _undelivered()
    stores_runtime.close()
    return Report(
        cycles=cycles,
        acknowledged=len(acknowledged),
        memories=Memory.objects.count(),
        audit_rows=AuditRow.objects.count(),
        seconds=time.monotonic() - started,
        problems=problems,
    )


def _is_at_least(memory: Any, what: str) -> bool:
    """Whether a memory is as acknowledged, or one unacknowledged step further."""
    ended = memory.deleted_at is not None and memory.deleted_at > 0
    return {
        "staged": True,
        "live": memory.deleted_at is None or ended,
        "forgotten": ended,
        "erased": memory.erased_at is not None,
    }[what]


def _undelivered() -> list[str]:
    """Drain the outbox; then the store must hold exactly what the ledger shows as live."""
    from governance import outbox, stores_runtime
    from governance.clock import now_ms
    from governance.models import Memory, Workspace

    later = now_ms() + (outbox.LEASE_SECONDS + 1) * 1000  # leases of the killed have run out
    while outbox.deliver_due(now_ms=later):
        pass
    workspace = Workspace.objects.get()

    async def held() -> set[str]:
        (replica,) = await stores_runtime.replicas(workspace.pk)
        ids: set[str] = set()
        cursor: str | None = None
        while True:
            page = await replica.scan(cursor=cursor)
            ids |= {item.record.id for item in page.records}
            cursor = page.cursor
            if cursor is None:
                return ids

    in_store = stores_runtime.wait(held())
    in_ledger = set(Memory.objects.filter(deleted_at=None).values_list("pk", flat=True))
    return [f"not in both ledger and store: {pk}" for pk in in_store ^ in_ledger]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    report = run(options.cycles, seed=options.seed)
    print(
        f"{report.cycles} kills in {report.seconds:.0f} s: {report.acknowledged} acknowledged,"
        f" {report.memories} memories, {report.audit_rows} audit rows,"
        f" {len(report.problems)} problems"
    )
    for problem in report.problems[:20]:
        print(f"  {problem}")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
