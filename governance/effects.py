"""What an operation does once it is allowed or approved: to the ledger, then to the outbox.

Both the front door and a decision come through here, so that approving does what allowing does.
"""

from collections.abc import Sequence

from governance import ledger, outbox
from governance.models import EndReason, Memory


def publish(change: ledger.Change, memories: Sequence[Memory]) -> list[outbox.Parcel]:
    """Make staged memories live."""
    for memory in memories:
        ledger.publish(change, memory)
    return outbox.enqueue(memories, now_ms=change.now_ms)


def forget(change: ledger.Change, memories: Sequence[Memory], *, hard: bool) -> list[outbox.Parcel]:
    """End memories, or erase their words for good."""
    if not memories:
        return []
    if hard:
        ledger.erase(change, memories)
    else:
        ledger.end(change, memories, EndReason.FORGOTTEN)
    return outbox.enqueue(memories, now_ms=change.now_ms)
