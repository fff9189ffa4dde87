"""A review, opened: the answers that both its row in the queue and its own page need."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from governance import review, screening
from governance.models import Memory, OperationKind, Review, Risk
from governance.screening import Flag, FlagCode
from governance.web.page import Title

_THINGS = {
    "semantic": "a fact",
    "episodic": "an event",
    "procedural": "a procedure",
    "emotional": "a feeling",
}


@dataclass(frozen=True)
class Reading:
    """A review, with the first of the memories it would change (the only one of a remember)."""

    review: Review
    first: Memory | None

    @cached_property
    def request(self) -> dict[str, Any] | None:
        """What the agent asked; None once it was erased."""
        return review.requested(self.review.operation)

    @property
    def asked(self) -> Mapping[str, Any]:
        return self.request or {}

    @property
    def is_addition(self) -> bool:
        return self.review.operation.kind == OperationKind.REMEMBER

    @property
    def is_merge(self) -> bool:
        return self.review.operation.kind == OperationKind.MERGE

    @property
    def is_for_good(self) -> bool:
        return bool(self.asked.get("hard_delete"))

    @property
    def memories(self) -> str:
        """How many memories it is about, in words."""
        count = len(self.review.targets)
        return "1 memory" if count == 1 else f"{count} memories"

    @cached_property
    def flags(self) -> Mapping[FlagCode, tuple[Flag, ...]]:
        """What screening finds in what the agent wants added; a removal adds nothing."""
        if self.first is None or not self.is_addition:
            return {}
        found = screening.all_flags(self.first)
        return {code: each for code in FlagCode if (each := screening.of_code(found, code))}

    @property
    def risk(self) -> Risk:
        return Risk(self.review.risk)

    @property
    def short_title(self) -> Title:
        """For the list: the verb alone where the subject says the rest."""
        if self.is_addition and self._subject:
            return Title(lead="Remember", subject=self._subject)
        return self.title

    @property
    def title(self) -> Title:
        if self.is_addition:
            thing = _THINGS.get(self.asked.get("type", ""), "a memory")
            return Title(lead=f"Remember {thing}", subject=self._subject)
        if self.is_merge:
            return Title(lead=f"Merge {self.memories} into one", subject="")
        for_good = ", for good" if self.is_for_good else ""
        return Title(lead=f"Forget {self.memories}{for_good}", subject="")

    @property
    def _subject(self) -> str:
        metadata = self.asked.get("metadata") or {}
        parts = (metadata.get("entity"), metadata.get("attribute"))
        return ", ".join(part for part in parts if isinstance(part, str) and part)


def moment(at_ms: int) -> datetime:
    """Epoch milliseconds as an aware time in UTC."""
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC)
