"""Holding a store against the ledger, both ways, and mending what differs.

    for progress in reconciliation.verify("pgvector"): ...

May run while the server serves: what is on its way to the store is no difference, and what looks
like one is looked at a second time before it is said. Finding and mending are batch by batch, so
whatever was mended stays mended if it is interrupted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import F

from governance import execution, outbox, stores_runtime
from governance.clock import now_ms
from governance.models import Delivery, Memory, Workspace
from stores.protocol import ReplicaRecord

BATCH = 500


class Difference(StrEnum):
    MISSING = "missing"  # the ledger serves it, the store does not hold it
    OUTDATED = "outdated"  # the store holds an earlier version
    ALTERED = "altered"  # the store holds something else than that version, or a later one
    SURPLUS = "surplus"  # the store holds what it should not: forgotten, archived or unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One memory at one store."""

    workspace_id: str
    store: str
    memory_id: str
    difference: Difference
    held_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What was found in one more batch, and how many memories of how many are done."""

    findings: Sequence[Finding]
    done: int
    total: int


def verify(store: str) -> Iterator[Progress]:
    """Look at everything the ledger serves and everything the store holds.

    Raises: StoreUnavailable, StoreRefused: it could not be looked at.
    """
    total, done = Memory.objects.served().count(), 0
    for workspace_id in _workspaces():
        for ids in _served(workspace_id):
            done += len(ids)
            findings = _confirmed(workspace_id, store, ids)
            yield Progress(findings=findings, done=done, total=max(done, total))
        for ids in _held(workspace_id, store):
            findings = [
                finding
                for finding in _confirmed(workspace_id, store, ids)
                if finding.difference is Difference.SURPLUS
            ]
            yield Progress(findings=findings, done=done, total=max(done, total))


def repair(store: str) -> Iterator[Progress]:
    """Verify, and mend each batch's findings before the next."""
    for progress in verify(store):
        by_workspace: dict[str, list[str]] = {}
        for finding in progress.findings:
            by_workspace.setdefault(finding.workspace_id, []).append(finding.memory_id)
        for workspace_id, ids in by_workspace.items():
            _send_anew(workspace_id, store, ids)
        yield progress


def reindex(store: str) -> Iterator[Progress]:
    """Send the store everything anew, a batch at a time, in place of what it holds of it."""
    total, done = Memory.objects.served().count(), 0
    for workspace_id in _workspaces():
        for ids in _served(workspace_id):
            _send_anew(workspace_id, store, ids)
            done += len(ids)
            yield Progress(findings=(), done=done, total=max(done, total))


def _workspaces() -> list[str]:
    return list(Workspace.objects.order_by("pk").values_list("pk", flat=True))


def _served(workspace_id: str) -> Iterator[list[str]]:
    """Ids of everything the ledger serves, a batch at a time."""
    served = Memory.objects.served().filter(workspace_id=workspace_id).order_by("pk")
    last = ""
    while ids := list(served.filter(pk__gt=last).values_list("pk", flat=True)[:BATCH]):
        yield ids
        last = ids[-1]


def _held(workspace_id: str, store: str) -> Iterator[list[str]]:
    """Ids of everything the store holds, a page at a time."""
    cursor = None
    while True:
        replica = stores_runtime.wait(stores_runtime.replica(workspace_id, store))
        page = stores_runtime.wait(replica.scan(cursor=cursor, limit=BATCH))
        yield [state.record.id for state in page.records]
        if (cursor := page.cursor) is None:
            return


def _confirmed(workspace_id: str, store: str, ids: Sequence[str]) -> list[Finding]:
    """Those that differ at a second look too: the first may have fallen between two changes."""
    if not (suspects := _differing(workspace_id, store, ids)):
        return []
    stores_runtime.wait(outbox.flush())
    return _differing(workspace_id, store, [finding.memory_id for finding in suspects])


def _differing(workspace_id: str, store: str, ids: Sequence[str]) -> list[Finding]:
    on_their_way = set(
        Delivery.objects.filter(
            store=store, memory__in=ids, delivered_version__lt=F("wanted_version")
        ).values_list("memory_id", flat=True)
    )
    replica = stores_runtime.wait(stores_runtime.replica(workspace_id, store))
    states = stores_runtime.wait(replica.fetch(ids))
    held = {state.record.id: state for state in states}
    memories = Memory.objects.filter(workspace_id=workspace_id).in_bulk(ids)
    findings = []
    for memory_id in ids:
        difference = _compare(memories.get(memory_id), held.get(memory_id))
        if difference is not None and memory_id not in on_their_way:
            findings.append(
                Finding(
                    workspace_id=workspace_id,
                    store=store,
                    memory_id=memory_id,
                    difference=difference,
                    held_version=held[memory_id].version if memory_id in held else 0,
                )
            )
    return findings


def _compare(memory: Memory | None, held: ReplicaRecord | None) -> Difference | None:
    if memory is None or not memory.is_served:
        return Difference.SURPLUS if held is not None else None
    if held is None:
        return Difference.MISSING
    if held.version < memory.version:
        return Difference.OUTDATED
    is_same = held.version == memory.version and held.record == memory.as_record()
    return None if is_same else Difference.ALTERED


def _send_anew(workspace_id: str, store: str, ids: Sequence[str]) -> None:
    """Have the store hold what the ledger says of these, and nothing else.

    Asked for before anything is dropped: should this end in between, the outbox goes on with it.
    """
    parcels = execution.write_sync(_claim_anew, workspace_id, store, ids)
    replica = stores_runtime.wait(stores_runtime.replica(workspace_id, store))
    stores_runtime.wait(replica.drop(ids))
    outbox.deliver(parcels)
    execution.write_sync(outbox.ask_again_if_overtaken, parcels, now_ms=now_ms())


def _claim_anew(workspace_id: str, store: str, ids: Sequence[str]) -> list[outbox.Parcel]:
    memories = Memory.objects.filter(workspace_id=workspace_id, pk__in=ids)
    return outbox.claim_anew(list(memories), store, now_ms=now_ms())
