"""What the survivor of a merge looks like, for each of the protocol's three strategies. Pure.

Who may be merged is decided elsewhere; here every record given takes part.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from stores.wire import MemoryRecord, MergeStrategy


def merge(
    canonical: MemoryRecord,
    duplicates: Sequence[MemoryRecord],
    *,
    strategy: MergeStrategy,
    now: int,
) -> MemoryRecord:
    """The surviving record. Its id, agent, user, creation time and expiry stay the canonical's.

    - ``keep_canonical``: the canonical record exactly as it is.
    - ``merge_content``: oldest first, lines are joined by a newline, each distinct line once;
      metadata is the union and the newest value wins; confidence is the highest.
    - ``keep_highest_confidence``: type, content, metadata, confidence and source of the record
      with the highest confidence; of equals the oldest.

    ``now`` (epoch ms) becomes ``updated_at`` if anything else changed.
    """
    match strategy:
        case MergeStrategy.KEEP_CANONICAL:
            return canonical
        case MergeStrategy.MERGE_CONTENT:
            changes = _united(oldest_first([canonical, *duplicates]))
        case MergeStrategy.KEEP_HIGHEST_CONFIDENCE:
            changes = _taken_from(_most_trusted([canonical, *duplicates]))
    merged = canonical.model_copy(update=changes)
    return canonical if merged == canonical else merged.model_copy(update={"updated_at": now})


def oldest_first(records: Iterable[MemoryRecord]) -> list[MemoryRecord]:
    """By creation time; the id decides between equals, so that the order never depends on luck."""
    return sorted(records, key=lambda record: (record.created_at, record.id))


def _united(records: Sequence[MemoryRecord]) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    for record in records:
        metadata |= record.metadata
    return {
        "content": _joined_lines(record.content for record in records),
        "metadata": metadata,
        "confidence": max(record.confidence for record in records),
    }


def _joined_lines(contents: Iterable[str]) -> str:
    # A dict keeps the first of each line and the order they came in. Splitting on "\n" alone
    # leaves every other kind of line break inside the lines, byte for byte.
    lines = dict.fromkeys(line for content in contents for line in content.split("\n"))
    return "\n".join(lines)


def _most_trusted(records: Sequence[MemoryRecord]) -> MemoryRecord:
    return min(oldest_first(records), key=lambda record: -record.confidence)


def _taken_from(winner: MemoryRecord) -> dict[str, Any]:
    return {
        name: getattr(winner, name)
        for name in ("type", "content", "metadata", "confidence", "source")
    }
