"""The log is append-only, whole, and holds every change."""

import asyncio
from importlib import import_module

import pytest
from django.core.checks import run_checks
from django.db import DatabaseError, connection

from governance import audit, lifecycle
from governance.clock import now_ms
from governance.decision import Ballot, decide
from governance.models import AuditRow, Memory, MemoryVersion, Review, Verdict, triggers
from governance.sealing import data_key
from tests.world import World


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE governance_auditrow SET actor_label = 'nobody'",
        "DELETE FROM governance_auditrow",
        "INSERT OR REPLACE INTO governance_auditrow SELECT * FROM governance_auditrow",
        "UPDATE governance_memoryversion SET content = 'changed'",
        "DELETE FROM governance_memoryversion",
    ],
)
def test_the_database_refuses_to_change_history(world: World, sql: str) -> None:
    world.remembered("Alice likes tea")
    with pytest.raises(DatabaseError):
        connection.cursor().execute(sql)
    assert world.findings() == []


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE governance_memory SET content = 'Alice hates tea'",
        "UPDATE governance_memory SET deleted_at = 1",
        "UPDATE governance_memory SET confidence = 0.1",
        "UPDATE governance_memory SET metadata = '{\"a\": 2}'",
        "UPDATE governance_memory SET agent_id = 'thief'",
        "UPDATE governance_memory SET version = 2",
        "UPDATE governance_memory SET expires_at = 9999999999999",
        "UPDATE governance_sealkey SET wrapped = NULL",
    ],
)
def test_a_raw_change_to_a_memory_is_found(world: World, sql: str) -> None:
    """C39: raw SQL goes past every signal; the log still tells."""
    world.remembered("Alice likes tea", metadata={"a": 1})
    assert world.findings() == []
    connection.cursor().execute(sql)
    assert world.findings()


def test_an_update_through_the_orm_is_found(world: World) -> None:
    world.remembered("Alice likes tea")
    Memory.objects.update(content="Alice likes gin")
    assert world.findings()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE governance_auditrow SET actor_label = 'nobody' WHERE sequence = 2",
        "UPDATE governance_auditrow SET facts = '{\"x\": 1}' WHERE sequence = 1",
        "UPDATE governance_auditrow SET sealed = x'00' WHERE sequence = 1",
        "DELETE FROM governance_auditrow WHERE sequence = 1",
        "DELETE FROM governance_auditrow WHERE sequence = 2",
        "DELETE FROM governance_auditrow WHERE sequence = 3",
        "UPDATE governance_auditrow SET sequence = sequence + 10 WHERE sequence = 3",
        "DELETE FROM governance_memory",
        "UPDATE governance_memoryversion SET content = 'changed'",
        "UPDATE governance_memoryversion SET valid_to_ms = 5",
    ],
)
def test_whoever_drops_the_triggers_first_is_found(world: World, sql: str) -> None:
    for text in ("one", "two", "three"):
        world.remembered(text)
    triggers.drop(connection)
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys=OFF")
    cursor.execute(sql)
    assert any("trigger" in finding.problem for finding in world.findings())
    triggers.install(connection)
    assert world.findings()
    # Leave the tables as the next test expects them.
    cursor.execute("PRAGMA foreign_keys=ON")


def test_a_failing_audit_insert_takes_the_change_with_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M05: no change without its row."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the log is full")

    monkeypatch.setattr(import_module("governance.audit.append"), "insert", broken)
    assert world.remember("Alice likes tea").status_code == 500
    assert Memory.objects.count() == 0
    assert MemoryVersion.objects.count() == 0


def test_a_row_outside_a_transaction_is_refused(world: World) -> None:
    entry = audit.Entry(action="x", actor=audit.Actor.system("test"))
    with pytest.raises(RuntimeError, match="transaction"):
        audit.append(world.workspace.pk, [entry], now_ms=now_ms())


def test_bulk_changes_leave_one_row_per_memory(world: World) -> None:
    """C39: a sweep of many and fifty approvals, each with its row."""
    for number in range(50):
        world.remember(f"proposal {number}", approval_required=True)
    for review in Review.objects.filter(status="pending").select_related("operation"):
        ballot = Ballot(
            user=world.reviewer,
            review_id=review.pk,
            verdict=Verdict.APPROVE,
            shown=world.shown(review),
        )
        asyncio.run(decide(ballot))
    for number in range(20):
        world.remembered(f"short-lived {number}", expires_at=now_ms() - 1)
    while lifecycle.sweep_expired(now_ms=now_ms()):
        pass
    actions = world.actions()
    assert actions.count("memory.approved") == 50
    assert actions.count("memory.expired") == 20
    assert world.findings() == []


def test_the_words_in_the_log_are_sealed(world: World) -> None:
    world.remembered("Alice is allergic to peanuts")
    row = AuditRow.objects.get()
    assert b"peanuts" not in bytes(row.sealed or b"")
    assert row.commitment
    assert row.seal_key is not None
    key = data_key(row.seal_key)
    assert key is not None
    assert key.open(bytes(row.sealed or b""), row.commitment)["content"] == (
        "Alice is allergic to peanuts"
    )


def test_a_migration_that_drops_the_triggers_is_noticed_at_start(world: World) -> None:
    def complaints() -> list[str]:
        return [check.id or "" for check in run_checks(databases=["default"])]

    assert "governance.E001" not in complaints()
    connection.cursor().execute("DROP TRIGGER governance_auditrow_no_update")
    assert "governance.E001" in complaints()
    triggers.install(connection)


def test_who_did_it_comes_from_the_credential(world: World) -> None:
    world.remembered("Alice likes tea", metadata={"actor": "mallory"}, source="mallory")
    row = AuditRow.objects.get()
    assert row.actor_kind == "key"
    assert world.key.startswith(row.actor_label)
