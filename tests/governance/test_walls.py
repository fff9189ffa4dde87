"""Every workspace is a wall, twice: ``access`` asks for its rows, PostgreSQL shows no others."""

import pytest
from django.apps import apps
from django.core.checks import run_checks
from django.db import connection

from governance import execution, walls
from governance.models import Memory, MemoryVersion, row_security
from tests.profiles import grown_only
from tests.world import World

#: Read to find out which workspace a person or an address belongs to, before any wall can stand.
READ_BEFORE = {"governance_membership", "governance_audithead"}


def test_every_table_of_a_workspace_stands_behind_the_second_wall() -> None:
    of_a_workspace = {
        model._meta.db_table
        for model in apps.get_app_config("governance").get_models()
        if any(field.name == "workspace" for field in model._meta.local_fields)
    }
    assert of_a_workspace - READ_BEFORE <= row_security.TABLES


def _texts_inside(workspace_id: str) -> set[str]:
    walls.enter(workspace_id)
    with connection.cursor() as cursor:
        cursor.execute("SELECT content FROM governance_memoryversion")
        raw = {content for (content,) in cursor.fetchall()}
    assert raw == {version.content for version in MemoryVersion.objects.all()}
    return {memory.content for memory in Memory.objects.all()}


@grown_only
def test_inside_a_workspace_there_are_no_rows_of_another(world: World) -> None:
    other = World.create("other")
    world.remembered("Alice likes tea")
    other.remembered("Bob likes coffee")

    for read in (execution.read_sync, execution.write_sync):
        assert read(_texts_inside, world.workspace.pk) == {"Alice likes tea"}
        assert read(_texts_inside, other.workspace.pk) == {"Bob likes coffee"}
        assert read(_texts_inside, "nowhere") == set()
        # The wall falls with the piece of work that stood inside it.
        assert read(Memory.objects.count) == 2


@grown_only
def test_what_is_not_the_workspaces_cannot_be_written_there(world: World) -> None:
    def misplace() -> None:
        walls.enter("nowhere")
        Memory.objects.filter(pk=memory_id).update(content="changed")

    memory_id = world.remembered("Alice likes tea")
    execution.write_sync(misplace)

    assert Memory.objects.get(pk=memory_id).content == "Alice likes tea"


@grown_only
def test_a_role_that_sees_over_the_wall_is_warned_of(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "governance.W001" not in {each.id for each in run_checks(databases=["default"])}
    monkeypatch.setattr(row_security, "is_bypassed", lambda _: True)
    assert "governance.W001" in {each.id for each in run_checks(databases=["default"])}
