"""From the ledger to the stores: enqueue in the change's transaction, deliver after it.

A row says which version of a memory a store should hold. A parcel carries that state; sending one
twice changes nothing, since replicas ignore what is not newer.
"""

import asyncio
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.conf import settings
from django.db import connection
from django.db.models import F, Q

from governance import execution, stores_runtime
from governance.clock import now_ms as clock_ms
from governance.embedding import embedder
from governance.ids import new_id
from governance.models import Delivery, Memory, MemoryVector
from governance.models.insert import insert
from stores.errors import StoreError
from stores.protocol import ReplicaRecord, Vector

log = logging.getLogger(__name__)

LEASE_SECONDS = 60
SEND_SECONDS = 45.0
"""How long a worker waits for a store to take a batch: less than the lease on it."""
BATCH = 100
_BACKOFF_SECONDS = (1, 5, 30, 120, 600)
_SETTLE_AFTER_SECONDS = 0.2

_lock = threading.Lock()
_delivered: list["Parcel"] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """One memory's state on its way to one store, under a claim."""

    delivery_id: int
    claim: str
    workspace_id: str
    store: str
    memory_id: str
    version: int
    record: ReplicaRecord | None
    """None: the store should no longer hold it."""


def enqueue(
    memories: Sequence[Memory],
    *,
    now_ms: int,
    vectors: dict[str, Vector] | None = None,
    claimed: bool = True,
) -> list[Parcel]:
    """Ask for every store to hold the memories' new states.

    The primary's rows come claimed, as parcels for ``deliver_now`` right after the commit; all
    others are left to the workers, and so are these with ``claimed=False``.
    """
    claim = new_id() if claimed else ""
    primary, *others = stores_runtime.store_names()
    first = [_wish(memory, primary, now_ms=now_ms, claim=claim) for memory in memories]
    rest = [_wish(memory, store, now_ms=now_ms) for memory in memories for store in others]
    if claimed and not rest and len(first) == 1 and memories[0].version == 1:
        # A new memory at one store, by far the commonest: there is no earlier wish to overtake.
        return _parcels([insert(first[0])], {memories[0].pk: memories[0]}, vectors or {})
    rows = Delivery.objects.bulk_create(
        [*first, *rest],
        update_conflicts=True,
        unique_fields=["memory", "store"],
        update_fields=["wanted_version", "due_at_ms", "attempts", "claim", "lease_expires_at_ms"],
    )
    if not claimed:
        return []
    return _parcels(rows[: len(first)], {memory.pk: memory for memory in memories}, vectors or {})


def _wish(memory: Memory, store: str, *, now_ms: int, claim: str = "") -> Delivery:
    return Delivery(
        workspace_id=memory.workspace_id,
        memory=memory,
        agent_id=memory.agent_id,
        store=store,
        wanted_version=memory.version,
        due_at_ms=now_ms,
        claim=claim,
        lease_expires_at_ms=now_ms + LEASE_SECONDS * 1000 if claim else 0,
    )


def claim_anew(memories: Sequence[Memory], store: str, *, now_ms: int) -> list[Parcel]:
    """Ask for a store to be sent these states once more, under a claim. Runs in a transaction."""
    claim = new_id()
    rows = Delivery.objects.bulk_create(
        [_wish(memory, store, now_ms=now_ms, claim=claim) for memory in memories],
        update_conflicts=True,
        unique_fields=["memory", "store"],
        update_fields=[
            "wanted_version", "delivered_version", "due_at_ms", "attempts", "claim",
            "lease_expires_at_ms",
        ],
    )  # fmt: skip
    return _parcels(rows, {memory.pk: memory for memory in memories}, {})


def ask_again_if_overtaken(parcels: Sequence[Parcel], *, now_ms: int) -> None:
    """Where a newer state was sent meanwhile, have it sent once more. Runs in a transaction."""
    for parcel in parcels:
        Delivery.objects.filter(pk=parcel.delivery_id, wanted_version__gt=parcel.version).update(
            delivered_version=0, due_at_ms=now_ms
        )


def claim_due(*, now_ms: int, limit: int = BATCH) -> list[Parcel]:
    """Take deliveries that are due and not under a live lease. Runs in a transaction."""
    due = Q(
        store__in=stores_runtime.store_names(),
        delivered_version__lt=F("wanted_version"),
        due_at_ms__lte=now_ms,
    )
    free = Q(lease_expires_at_ms__lt=now_ms)
    # Where there are many writers, each takes what no other is taking.
    waiting = Delivery.objects.select_for_update(skip_locked=connection.vendor == "postgresql")
    rows = list(waiting.filter(due & free).order_by("due_at_ms", "pk")[:limit])
    claim = new_id()
    Delivery.objects.filter(free, pk__in=[row.pk for row in rows]).update(
        claim=claim, lease_expires_at_ms=now_ms + LEASE_SECONDS * 1000
    )
    taken = list(Delivery.objects.filter(claim=claim).select_related("memory"))
    return _parcels(taken, {row.memory_id: row.memory for row in taken}, {})


def _parcels(
    rows: Sequence[Delivery], memories: dict[str, Memory], vectors: dict[str, Vector]
) -> list[Parcel]:
    served = [memory.pk for memory in memories.values() if memory.is_served]
    if missing := [pk for pk in served if pk not in vectors]:
        vectors = vectors | _stored_vectors(missing)
    return [
        Parcel(
            delivery_id=row.pk,
            claim=row.claim,
            workspace_id=row.workspace_id,
            store=row.store,
            memory_id=row.memory_id,
            version=memories[row.memory_id].version,
            record=_record(memories[row.memory_id], vectors.get(row.memory_id)),
        )
        for row in rows
    ]


def _stored_vectors(memory_ids: Sequence[str]) -> dict[str, Vector]:
    rows = MemoryVector.objects.filter(
        memory__in=memory_ids, model_id=embedder().model_id
    ).order_by("version_number")
    return {row.memory_id: np.frombuffer(bytes(row.data), dtype="<f4") for row in rows}


def _record(memory: Memory, vector: Vector | None) -> ReplicaRecord | None:
    if not memory.is_served:
        return None
    return ReplicaRecord(
        record=memory.as_record(),
        version=memory.version,
        vector=vector,
    )


async def deliver_now(parcels: Sequence[Parcel]) -> tuple[str, ...]:
    """Send to the primary within the write's budget; the names of stores that took everything.

    What is not done in time stays in the outbox: nothing is lost, and recall finds it meanwhile.
    """
    if not parcels:
        return ()
    try:
        async with asyncio.timeout(settings.ENVIRONMENT.delivery_budget_ms / 1000):
            failures = await stores_runtime.on_loop(_send(parcels))
    except TimeoutError:
        log.warning("the primary store did not take %d states in time", len(parcels))
        return ()
    if failures:
        await execution.write(settle, parcels, failures, now_ms=clock_ms())
        return ()
    _settle_soon(parcels)
    return (parcels[0].store,)


def _settle_soon(parcels: Sequence[Parcel]) -> None:
    """Have success written down within moments, several writes at a time: nobody waits for it.

    Should the process end before that, the parcels are sent once more, which changes nothing.
    """
    with _lock:
        is_first = not _delivered
        _delivered.extend(parcels)
    if is_first:
        stores_runtime.soon(_SETTLE_AFTER_SECONDS, flush)


async def flush() -> None:
    """Write down what was delivered and is not settled yet."""
    with _lock:
        batch = list(_delivered)
        _delivered.clear()
    if batch:
        await execution.write(settle, batch, {}, now_ms=clock_ms())


def deliver_due(*, now_ms: int) -> int:
    """Claim and send one batch, for workers. Returns how many were sent."""
    return deliver(execution.write_sync(claim_due, now_ms=now_ms))


def deliver(parcels: Sequence[Parcel]) -> int:
    """Send what was claimed and write down what came of it. Returns how many were taken."""
    by_store: dict[tuple[str, str], list[Parcel]] = {}
    for parcel in parcels:
        by_store.setdefault((parcel.workspace_id, parcel.store), []).append(parcel)
    sent = 0
    for batch in by_store.values():
        failures = stores_runtime.wait(_send_in_time(batch))
        execution.write_sync(settle, batch, failures, now_ms=clock_ms())
        sent += len(batch) - len(failures)
    return sent


async def _send_in_time(parcels: Sequence[Parcel]) -> dict[str, str]:
    """``_send``, given up at a store that hangs: it must not hold up what is for the others."""
    try:
        async with asyncio.timeout(SEND_SECONDS):
            return await _send(parcels)
    except TimeoutError:
        log.warning("store %s did not take %d states in time", parcels[0].store, len(parcels))
        return {parcel.memory_id: TimeoutError.__name__ for parcel in parcels}


async def _send(parcels: Sequence[Parcel]) -> dict[str, str]:
    """Put and erase at one store, on the store loop. Returns memory id -> what went wrong."""
    try:
        store = await stores_runtime.replica(parcels[0].workspace_id, parcels[0].store)
        if records := [parcel.record for parcel in parcels if parcel.record is not None]:
            await store.put(records)
        if gone := {p.memory_id: p.version for p in parcels if p.record is None}:
            await store.erase(gone)
    except StoreError as error:
        log.warning("store %s: %s", parcels[0].store, type(error).__name__)
        return {parcel.memory_id: type(error).__name__ for parcel in parcels}
    return {}


def settle(parcels: Sequence[Parcel], failures: dict[str, str], *, now_ms: int) -> None:
    """Write down what was delivered, where our claim still holds, and when to try the rest."""
    claims = {parcel.claim for parcel in parcels}
    versions: dict[int, list[int]] = {}
    for parcel in parcels:
        if parcel.memory_id not in failures:
            versions.setdefault(parcel.version, []).append(parcel.delivery_id)
    for version, ids in versions.items():
        Delivery.objects.filter(pk__in=ids, claim__in=claims, wanted_version=version).update(
            delivered_version=version,
            delivered_at_ms=now_ms,
            claim="",
            lease_expires_at_ms=0,
            last_error="",
        )
    for parcel in parcels:
        if error := failures.get(parcel.memory_id):
            row = Delivery.objects.filter(pk=parcel.delivery_id, claim=parcel.claim).first()
            if row is not None:
                _postpone(row, error, now_ms=now_ms)


def _postpone(row: Delivery, error: str, *, now_ms: int) -> None:
    wait_seconds = _BACKOFF_SECONDS[min(row.attempts, len(_BACKOFF_SECONDS) - 1)]
    row.attempts += 1
    row.due_at_ms = now_ms + wait_seconds * 1000
    row.last_error = error
    row.claim, row.lease_expires_at_ms = "", 0
    row.save(update_fields=["attempts", "due_at_ms", "last_error", "claim", "lease_expires_at_ms"])
