"""What may never change: whole tables, and a version's state."""

APPEND_ONLY = ("governance_auditrow", "governance_decision")
VERSION_STATE = (
    "type", "content", "metadata", "confidence", "source", "expires_at", "deleted_at", "end_reason",
    "successor_id", "archived_at", "demoted_at", "quarantined_at", "erased_at", "memory_id",
    "number", "operation_id", "valid_from_ms",
)  # fmt: skip
