"""Asking for what a store was never sent: one that was added later, or a ledger that moved.

The outbox delivers it in the background. Until then recall completes from the other stores and the
ledger, so nothing has to wait for it.
"""

from django.db.models import Exists, OuterRef

from governance import execution, stores_runtime
from governance.models import Delivery, Memory

BATCH = 500


def fill(*, now_ms: int) -> int:
    """Ask for one batch. Returns how many memories it asks for; call until it is none."""
    return execution.write_sync(_fill, now_ms=now_ms)


def _fill(*, now_ms: int) -> int:
    asked = 0
    for store in stores_runtime.store_names():
        known = Delivery.objects.filter(memory=OuterRef("pk"), store=store)
        lacking = Memory.objects.served().filter(~Exists(known)).order_by("pk")[: BATCH - asked]
        rows = [
            Delivery(
                workspace_id=memory.workspace_id,
                memory=memory,
                agent_id=memory.agent_id,
                store=store,
                wanted_version=memory.version,
                due_at_ms=now_ms,
            )
            for memory in lacking
        ]
        # Somebody who changes one of them meanwhile asks for a newer state: theirs holds.
        Delivery.objects.bulk_create(rows, ignore_conflicts=True)
        asked += len(rows)
    return asked
