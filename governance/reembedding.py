"""Making every vector anew by the configured embedder, and filling the stores with them.

Resumable: what has its new vector is not embedded again, and what a store holds is not sent again.
For an installation that is not serving: the stores are emptied on the way.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from django.conf import settings
from django.db.models import Exists, F, OuterRef, QuerySet

from governance import execution, outbox, stores_runtime
from governance.clock import now_ms
from governance.embedding import embedder
from governance.models import Delivery, Memory, MemoryVector
from stores import registry

BATCH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far one of the two stages is."""

    stage: str
    done: int
    total: int


def run() -> Iterator[Progress]:
    """Embed what lacks a vector of the configured model, then fill the stores."""
    yield from _embed_all()
    stores_runtime.close()
    for url in settings.STORE_URLS:
        registry.discard(url)
    execution.write_sync(_ask_for_everything)
    yield from _deliver_all()


def _lacking() -> QuerySet[Memory]:
    mine = MemoryVector.objects.filter(memory=OuterRef("pk"), model_id=embedder().model_id)
    return Memory.objects.filter(~Exists(mine), erased_at__isnull=True)


def _embed_all() -> Iterator[Progress]:
    total = Memory.objects.filter(erased_at__isnull=True).count()
    while batch := list(_lacking().order_by("pk")[:BATCH]):
        vectors = embedder().embed([memory.content for memory in batch])
        execution.write_sync(_replace_vectors, batch, vectors)
        yield Progress(stage="embedded", done=total - _lacking().count(), total=total)


def _replace_vectors(
    batch: list[Memory], vectors: "np.ndarray[tuple[int, int], np.dtype[np.float32]]"
) -> None:
    MemoryVector.objects.filter(memory__in=batch).delete()
    MemoryVector.objects.bulk_create(
        MemoryVector(
            memory=memory,
            model_id=embedder().model_id,
            version_number=memory.version,
            data=np.ascontiguousarray(vector, dtype="<f4").tobytes(),
        )
        for memory, vector in zip(batch, vectors, strict=True)
    )


def _ask_for_everything() -> None:
    Delivery.objects.update(
        delivered_version=0, due_at_ms=0, attempts=0, claim="", lease_expires_at_ms=0
    )


def _deliver_all() -> Iterator[Progress]:
    total = Delivery.objects.count()
    while outbox.deliver_due(now_ms=now_ms()):
        waiting = Delivery.objects.filter(delivered_version__lt=F("wanted_version")).count()
        yield Progress(stage="delivered", done=total - waiting, total=total)
