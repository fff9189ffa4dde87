"""What a workspace's admin may know of how the server is set: no secret, no other workspace."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Count, F, Min

from governance import stores_runtime
from governance.embedding import embedder
from governance.models import Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRow:
    """One store as this workspace meets it."""

    name: str
    is_primary: bool
    answers: bool
    waiting: int
    """Memories it has not been told of, or not of their last change."""
    lag_seconds: int
    """Age of the oldest such change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing the server's operator has set, and the variable that sets it."""

    label: str
    value: str
    variable: str


def stores(workspace_id: str, answers: Mapping[str, bool], *, now_ms: int) -> list[StoreRow]:
    """Every store, the primary first; one query."""
    behind = {
        row["store"]: row
        for row in Delivery.objects.filter(
            workspace_id=workspace_id, delivered_version__lt=F("wanted_version")
        )
        .values("store")
        .annotate(waiting=Count("pk"), oldest_ms=Min("memory__updated_at"))
    }
    return [
        StoreRow(
            name=name,
            is_primary=number == 0,
            answers=answers.get(name, False),
            waiting=behind[name]["waiting"] if name in behind else 0,
            lag_seconds=max(0, now_ms - behind[name]["oldest_ms"]) // 1000 if name in behind else 0,
        )
        for number, name in enumerate(stores_runtime.store_names())
    ]


def facts() -> list[Fact]:
    """How the server is set, in words."""
    return [
        Fact(label=label, value=value, variable=f"MEMORYWIRE_{name.upper()}")
        for label, value, name in _facts()
    ]


def _facts() -> Iterator[tuple[str, str, str]]:
    said = settings.ENVIRONMENT
    limit = said.calls_per_minute
    yield "Address", said.address, "public_url"
    yield "Ledger", "PostgreSQL" if said.database_url else "SQLite", "database_url"
    yield "Shared between processes", "Redis" if said.redis_url else "one process", "redis_url"
    yield "Embedder", embedder().model_id, "embedder"
    yield "Mail", f"from {said.email_from}" if said.email_url else "none is sent", "email_url"
    yield "Single sign-on", said.oidc_name if said.oidc_url else "off", "oidc_url"
    yield "Calls a key may make", f"{limit:,} a minute" if limit else "any", "calls_per_minute"
    yield "A forget waits above", f"{said.forget_review_above:,} memories", "forget_review_above"
    yield "A demoted score counts", f"{said.demotion_factor:g} times", "demotion_factor"
