"""What a replica is asked, and how deep its legs look for the answer."""

from dataclasses import dataclass
from typing import Final

from stores.protocol import Scope, Vector

#: Each leg looks deeper than the limit, so that what is second in both can become first.
DEPTH_MIN: Final = 400
DEPTH_FACTOR: Final = 4
#: How many of the best may be raised by the episodes beside them.
CONTEXT_DEPTH: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """The arguments of ``Replica.search`` for one workspace."""

    workspace: str
    scope: Scope
    text: str
    vector: Vector | None
    limit: int
    within: frozenset[str] | None
    exclude: frozenset[str]

    @property
    def depth(self) -> int:
        """How many candidates each leg should offer."""
        return max(DEPTH_MIN, DEPTH_FACTOR * self.limit)
