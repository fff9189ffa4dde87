"""Proving the log: that it is whole, and that every memory is what its last row says."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db import connection

from governance.audit.digest import row_mac, state_digest, version_digest
from governance.models import AuditHead, AuditRow, Memory, MemoryVersion, Workspace, triggers
from governance.sealing import data_key

_CHUNK = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as it was written. ``where`` names the row or memory."""

    where: str
    problem: str


def verify(workspace_id: str | None = None) -> Iterator[Finding]:
    """Yield what is wrong, nothing if all is well. Reads everything; memory stays flat.

    Finds: rows changed, removed, added or reordered by hand; memories, versions or sealed words
    changed without a row; memories without rows and rows without memories; dropped triggers.
    Cannot find: the whole data folder replaced by an older copy of itself.
    """
    for name in triggers.missing(connection):
        yield Finding(where=name, problem="the trigger that guards the log is missing")
    workspaces = Workspace.objects.order_by("pk")
    if workspace_id is not None:
        workspaces = workspaces.filter(pk=workspace_id)
    for workspace in workspaces:
        yield from _verify_chain(workspace)
        yield from _verify_memories(workspace)
        yield from _verify_rows_have_memories(workspace)


def _verify_chain(workspace: Workspace) -> Iterator[Finding]:
    sequence, mac = 0, ""
    rows = AuditRow.objects.filter(workspace=workspace).order_by("sequence")
    for row in rows.select_related("seal_key").iterator(chunk_size=_CHUNK):
        where = f"{workspace.slug} row {row.sequence}"
        if row.sequence != sequence + 1:
            yield Finding(where=where, problem=f"rows are missing after {sequence}")
        if row.previous_mac != mac:
            yield Finding(where=where, problem="does not follow on from the row before it")
        if row.mac != row_mac(row):
            yield Finding(where=where, problem="was changed after it was written")
        if problem := _sealed_problem(row):
            yield Finding(where=where, problem=problem)
        sequence, mac = row.sequence, row.mac
    head = AuditHead.objects.filter(workspace=workspace).first()
    if head is None or (head.sequence, head.mac) != (sequence, mac):
        yield Finding(where=workspace.slug, problem=f"the log does not end at row {sequence}")


def _sealed_problem(row: AuditRow) -> str:
    key = data_key(row.seal_key) if row.seal_key else None
    if row.sealed is None or key is None:
        return ""
    try:
        key.open(bytes(row.sealed), row.commitment)
    except ValueError as error:
        return f"its words: {error}"
    return ""


def _verify_memories(workspace: Workspace) -> Iterator[Finding]:
    memories = Memory.objects.filter(workspace=workspace).select_related("seal_key")
    for memory in memories.order_by("pk").iterator(chunk_size=_CHUNK):
        recorded = dict(
            AuditRow.objects.filter(workspace=workspace, memory_id=memory.pk)
            .exclude(state_digest="")
            .order_by("sequence")
            .values_list("memory_version", "state_digest")
        )
        for problem in _memory_problems(memory, recorded):
            yield Finding(where=f"memory {memory.pk}", problem=problem)


def _memory_problems(memory: Memory, recorded: dict[int | None, str]) -> Iterator[str]:
    if list(recorded) != list(range(1, memory.version + 1)):
        yield f"has {len(recorded)} recorded changes at version {memory.version}"
    if recorded.get(memory.version) != state_digest(memory, data_key(memory.seal_key)):
        yield "is not what its last audit row says"
    versions = {version.number: version for version in memory.versions.all()}
    expected = [memory.version] if memory.erased_at else list(range(1, memory.version + 1))
    if sorted(versions) != expected:
        yield f"has versions {sorted(versions)} at version {memory.version}"
    for version in versions.values():
        if problem := _version_problem(memory, version, versions, recorded):
            yield problem


def _version_problem(
    memory: Memory,
    version: MemoryVersion,
    versions: dict[int, MemoryVersion],
    recorded: dict[int | None, str],
) -> str:
    digest = version_digest(memory, version, data_key(memory.seal_key))
    if recorded.get(version.number) != digest:
        return f"version {version.number} is not what its audit row says"
    successor = versions.get(version.number + 1)
    if version.valid_to_ms != (successor.valid_from_ms if successor else None):
        return f"version {version.number} does not end where the next begins"
    return ""


def _verify_rows_have_memories(workspace: Workspace) -> Iterator[Finding]:
    orphans = (
        AuditRow.objects.filter(workspace=workspace)
        .exclude(state_digest="")
        .exclude(memory_id__in=Memory.objects.filter(workspace=workspace).values("pk"))
        .order_by()
        .values_list("memory_id", flat=True)
        .distinct()
    )
    for memory_id in orphans.iterator(chunk_size=_CHUNK):
        yield Finding(where=f"memory {memory_id}", problem="is gone without an audit row")
