"""Numbers for Prometheus, counted where things happen; ``measuring`` adds what the ledger knows.

No label holds what an agent or a person wrote, nor an id: each has few values, known beforehand.
Counters are this process's own: a second server process is a second target.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

request_seconds = Histogram(
    "memorywire_http_request_seconds",
    "Time to answer a request, by the pattern of its address.",
    ("method", "route", "status"),
    buckets=_SECONDS,
    registry=REGISTRY,
)
operations = Counter(
    "memorywire_operations",
    "Operations of agents, by what came of them at once.",
    ("kind", "status"),
    registry=REGISTRY,
)
decisions = Counter(
    "memorywire_decisions", "Decisions on proposals.", ("verdict",), registry=REGISTRY
)
store_search_seconds = Histogram(
    "memorywire_store_search_seconds",
    "Time a store took to rank for one recall.",
    ("store", "outcome"),
    buckets=_SECONDS,
    registry=REGISTRY,
)
sweeps = Counter("memorywire_sweeps", "Sweeps for expired memories.", registry=REGISTRY)
swept_memories = Counter(
    "memorywire_swept_memories", "Memories that a sweep ended.", registry=REGISTRY
)

# Of the whole installation, read from the ledger when asked for.
proposals_waiting = Gauge(
    "memorywire_proposals_waiting", "Proposals that wait for a person.", registry=REGISTRY
)
oldest_proposal_seconds = Gauge(
    "memorywire_oldest_proposal_seconds",
    "How long the oldest proposal has waited; 0 if none does.",
    registry=REGISTRY,
)
outbox_backlog = Gauge(
    "memorywire_outbox_backlog", "States that a store lacks.", ("store",), registry=REGISTRY
)
outbox_lag_seconds = Gauge(
    "memorywire_outbox_lag_seconds",
    "Age of the oldest state that a store lacks; 0 if it has all.",
    ("store",),
    registry=REGISTRY,
)
audit_rows = Gauge("memorywire_audit_rows", "Rows of the audit log.", registry=REGISTRY)
