"""Celery tasks: each short, each safe to run twice, each chaining itself while there is more."""

from celery import shared_task

from governance import filling, lifecycle, outbox
from governance.clock import now_ms


@shared_task  # type: ignore[untyped-decorator]
def deliver_due() -> None:
    """Send what the outbox holds, a batch at a time."""
    if outbox.deliver_due(now_ms=now_ms()):
        deliver_due.delay()


@shared_task  # type: ignore[untyped-decorator]
def fill_stores() -> None:
    """Ask for what a store was never sent, a batch at a time."""
    if filling.fill(now_ms=now_ms()):
        fill_stores.delay()
        deliver_due.delay()


@shared_task  # type: ignore[untyped-decorator]
def sweep_expired() -> None:
    """End memories past their expiry, a batch at a time, and have the stores told."""
    if lifecycle.sweep_expired(now_ms=now_ms()):
        sweep_expired.delay()
        deliver_due.delay()
