"""How many queries the hot paths make. A rise is a decision, not an accident."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db.backends.utils import CursorWrapper

from governance import outbox, recall_tracking, stores_runtime
from governance.models import Review
from tests.governance.test_thread import approve
from tests.world import World

Counted = Callable[[Callable[[], Any]], int]


#: Transaction control, and what PostgreSQL is told of the wall around a piece of work.
_BESIDE = (
    *("BEGIN", "SAVEPOINT", "RELEASE", "PRAGMA"),
    *("SELECT set_config(", "SELECT 1 FROM governance_audithead"),
)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Counts statements on every thread's connection, transaction control left out."""
    statements: list[str] = []
    execute = CursorWrapper.execute

    def counting(self: CursorWrapper, sql: Any, params: Any = None) -> Any:
        if not str(sql).startswith(_BESIDE):
            statements.append(str(sql))
        return execute(self, sql, params)

    # What is written down a moment later must not fall into another count by chance.
    monkeypatch.setattr(stores_runtime, "soon", lambda *_: None)

    def count(call: Callable[[], Any]) -> int:
        call()  # the first time also opens connections and fills caches
        stores_runtime.wait(outbox.flush())
        stores_runtime.wait(recall_tracking.flush())
        statements.clear()
        call()
        return len(statements)

    monkeypatch.setattr(CursorWrapper, "execute", counting)
    return count


def test_remember(world: World, counted: Counted) -> None:
    assert counted(lambda: world.remembered("Alice likes tea")) == 11


def test_remember_staged(world: World, counted: Counted) -> None:
    texts = iter(["one", "two"])
    assert counted(lambda: world.remember(next(texts), approval_required=True)) == 12


@pytest.mark.parametrize("memories", [1, 30])
def test_recall_whatever_there_is_to_recall(world: World, counted: Counted, memories: int) -> None:
    for number in range(memories):
        world.remembered(f"Alice likes tea number {number}")
    assert counted(lambda: world.recall("tea")) == 4


def walls_may_wait() -> bool:
    return connection.vendor == "postgresql"


def test_approve(world: World, counted: Counted) -> None:
    for text in ("one", "two"):
        world.remember(text, approval_required=True)
    waiting = Review.objects.select_related("operation").filter(status="pending")
    upcoming = iter([(review, world.shown(review)) for review in waiting])

    def approve_next() -> None:
        review, shown = next(upcoming)
        approve(world, review, shown=shown)

    # Where another may have changed it meanwhile, the reviewer's membership is read once more.
    assert counted(approve_next) == 15 + walls_may_wait()
