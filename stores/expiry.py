"""When a memory has lapsed, is fresh enough, or falls under an expire policy. Pure rules.

Times are epoch milliseconds, UTC.
"""

from typing import Final

from stores.wire import ExpirePolicy, MemoryType

DAY_MS: Final = 86_400_000


def has_lapsed(expires_at: int | None, *, now: int) -> bool:
    """Whether a memory's own time to live has run out. The moment itself counts as run out."""
    return expires_at is not None and expires_at <= now


def is_fresh(created_at: int, *, within_days: int | None, now: int) -> bool:
    """Whether a memory is at most so many days old; None asks for nothing."""
    return within_days is None or created_at >= now - within_days * DAY_MS


def falls_under(
    policy: ExpirePolicy,
    *,
    memory_type: MemoryType,
    confidence: float,
    created_at: int,
    last_recalled_at: int | None,
    now: int,
) -> bool:
    """Whether every condition of the policy holds for a memory.

    Ages are strict: exactly N days old is not older than N days. A memory that was never recalled
    counts as last recalled when it was created, so that a new one is not expired at once.
    """
    if policy.type is not None and memory_type != policy.type:
        return False
    if policy.confidence_below is not None and confidence >= policy.confidence_below:
        return False
    if policy.older_than_days is not None and not _is_before(
        created_at, days_ago=policy.older_than_days, now=now
    ):
        return False
    last_used_at = created_at if last_recalled_at is None else last_recalled_at
    return policy.no_recall_in_days is None or _is_before(
        last_used_at, days_ago=policy.no_recall_in_days, now=now
    )


def _is_before(moment: int, *, days_ago: int, now: int) -> bool:
    return moment < now - days_ago * DAY_MS
