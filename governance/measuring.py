"""Every number in Prometheus' text format: those counted here, and those the ledger knows."""

from django.db.models import Count, F, Min, Sum
from prometheus_client import generate_latest

from governance import execution, metrics, stores_runtime
from governance.models import AuditHead, Delivery, Review, ReviewStatus


async def exposition(*, now_ms: int) -> bytes:
    """What Prometheus is answered. Three short queries."""
    await execution.read(_measure, now_ms)
    return generate_latest(metrics.REGISTRY)


def _measure(now_ms: int) -> None:
    _measure_queue(now_ms)
    _measure_outbox(now_ms)
    metrics.audit_rows.set(AuditHead.objects.aggregate(rows=Sum("sequence"))["rows"] or 0)


def _measure_queue(now_ms: int) -> None:
    waiting = Review.objects.filter(status=ReviewStatus.PENDING).aggregate(
        count=Count("pk"), oldest_ms=Min("created_at_ms")
    )
    metrics.proposals_waiting.set(waiting["count"])
    metrics.oldest_proposal_seconds.set(_age_seconds(waiting["oldest_ms"], now_ms))


def _measure_outbox(now_ms: int) -> None:
    rows = (
        Delivery.objects.filter(delivered_version__lt=F("wanted_version"))
        .values("store")
        .annotate(count=Count("pk"), oldest_ms=Min("memory__updated_at"))
    )
    backlog = {row["store"]: (row["count"], row["oldest_ms"]) for row in rows}
    # A store that has caught up must be seen to have: its numbers go back to 0.
    for store in {*stores_runtime.store_names(), *backlog}:
        count, oldest_ms = backlog.get(store, (0, None))
        metrics.outbox_backlog.labels(store).set(count)
        metrics.outbox_lag_seconds.labels(store).set(_age_seconds(oldest_ms, now_ms))


def _age_seconds(since_ms: int | None, now_ms: int) -> float:
    return 0.0 if since_ms is None else max(0, now_ms - since_ms) / 1000
