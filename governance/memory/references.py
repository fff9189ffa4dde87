"""What a request means by an id or a name."""

from collections.abc import Sequence

from governance.models import EndReason, Memory
from governance.models.memory import MemoryQuerySet

_HOPS_MAX = 32


def survivors(mine: MemoryQuerySet, ids: Sequence[str]) -> list[str]:
    """The ids, those of memories that were merged away replaced by what they were merged into.

    One query if none was merged. Ids that are unknown stay as they are.
    """
    current = list(dict.fromkeys(ids))
    for _ in range(_HOPS_MAX):
        merged = dict(
            mine.filter(pk__in=current, end_reason=EndReason.MERGED, successor_id__isnull=False)
            .order_by()
            .values_list("pk", "successor_id")
        )
        if not merged:
            break
        current = list(dict.fromkeys(merged.get(pk) or pk for pk in current))
    return current


def by_entity_name(mine: MemoryQuerySet, names: set[str]) -> dict[str, list[Memory]]:
    """Visible memories by the exact name in ``metadata.entity_name`` or ``metadata.entity``."""
    found: dict[str, list[Memory]] = {name: [] for name in names}
    for memory in mine.iterator(chunk_size=500):
        given = (memory.metadata.get("entity_name"), memory.metadata.get("entity"))
        # Metadata is the agent's: whatever else stands there is no name.
        for name in {name for name in given if isinstance(name, str)} & names:
            found[name].append(memory)
    return found
