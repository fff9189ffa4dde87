"""Reading the log: rows by sequence, all or those that meet a filter, and the words of one row."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from governance import sealing
from governance.errors import NotFound
from governance.models import AuditHead, AuditRow, Membership


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which rows are asked for; what is empty holds for all. Times are epoch milliseconds."""

    action: str = ""
    actor: str = ""
    """``kind:id``, which is exact, or the name shown."""
    agent_id: str = ""
    memory_id: str = ""
    review_id: str = ""
    from_ms: int | None = None
    before_ms: int | None = None
    agents: Collection[str] | None = None
    """Only rows about these agents are there at all; None: every row."""

    @property
    def is_empty(self) -> bool:
        return self == Filter()

    def condition(self) -> Q:
        parts = {
            "action": self.action,
            "agent_id": self.agent_id,
            "memory_id": self.memory_id,
            "review_id": self.review_id,
            "at_ms__gte": self.from_ms,
            "at_ms__lt": self.before_ms,
        }
        asked = {name: value for name, value in parts.items() if value not in {"", None}}
        theirs = Q() if self.agents is None else Q(agent_id__in=self.agents)
        return Q(**asked) & self._actor() & theirs

    def _actor(self) -> Q:
        kind, colon, actor_id = self.actor.partition(":")
        if colon and kind in {"key", "person", "system"}:
            return Q(actor_kind=kind, actor_id=actor_id)
        return Q(actor_label__iexact=self.actor) if self.actor else Q()


def head(workspace_id: str) -> int:
    """The last row's sequence; 0 while there is none. It rises with every change."""
    return AuditHead.objects.values_list("sequence", flat=True).get(pk=workspace_id)


def count(workspace_id: str, asked: Filter) -> int:
    """How many rows meet a filter."""
    return _rows(workspace_id, asked).count()


def rows_before(
    workspace_id: str, sequence: int, *, limit: int, asked: Filter | None = None
) -> list[AuditRow]:
    """The ``limit`` nearest rows below a sequence, newest first; one query.

    Rows never change: pages neither skip nor repeat one, however many are added meanwhile.
    """
    rows = _rows(workspace_id, asked).filter(sequence__lt=sequence)
    return list(rows.order_by("-sequence")[:limit])


def rows_after(
    workspace_id: str, sequence: int, *, limit: int, asked: Filter | None = None
) -> list[AuditRow]:
    """The ``limit`` nearest rows above a sequence, newest first; one query."""
    rows = _rows(workspace_id, asked).filter(sequence__gt=sequence)
    return list(rows.order_by("sequence")[:limit])[::-1]


def chunk_after(
    workspace_id: str, sequence: int, *, until: int, limit: int, asked: Filter
) -> list[AuditRow]:
    """The next ``limit`` rows above a sequence, oldest first, with the keys of their words."""
    rows = _rows(workspace_id, asked).filter(sequence__gt=sequence, sequence__lte=until)
    return list(rows.select_related("seal_key").order_by("sequence")[:limit])


def of_memory(workspace_id: str, memory_id: str) -> Iterator[AuditRow]:
    """Every row about one memory, oldest first."""
    return _rows(workspace_id, Filter(memory_id=memory_id)).order_by("sequence").iterator()


def access_row(membership: Membership, sequence: int) -> AuditRow:
    """One row of the member's workspace and agents, with the key of its words.

    Raises: NotFound, whether it is missing or another's.
    """
    row = (
        AuditRow.objects.filter(workspace_id=membership.workspace_id, sequence=sequence)
        .select_related("seal_key")
        .first()
    )
    if row is None or not membership.sees(row.agent_id):
        raise NotFound("There is no such row.")
    return row


def words(row: AuditRow) -> Any | None:
    """What a row says in words, opened; None where it has none or they were erased."""
    if row.seal_key is None or row.sealed is None:
        return None
    key = sealing.data_key(row.seal_key)
    return None if key is None else key.open(bytes(row.sealed), row.commitment)


def _rows(workspace_id: str, asked: Filter | None) -> QuerySet[AuditRow]:
    rows = AuditRow.objects.filter(workspace_id=workspace_id)
    return rows.filter(asked.condition()) if asked else rows
