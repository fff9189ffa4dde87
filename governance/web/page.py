"""What the templates are given: plain values, so that no page can reach past what it may show.

Texts an agent chose are plain ``str`` here and are shown through the ``memorywire_text`` tags.
"""

from dataclasses import dataclass
from datetime import datetime

from governance.diff import Kind
from governance.models import Risk

#: A place in the queue: by risk, then oldest first.
Order = tuple[int, datetime, str]


def _order(risk: Risk, proposed_at: datetime, review_id: str) -> Order:
    return risk, proposed_at, review_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Who looks at the page."""

    name: str
    workspace: str
    roles: str
    waiting: int
    """Proposals in their queue: shown beside its name in the navigation."""
    is_admin: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Title:
    """A verb and a thing; ``subject`` is what the agent says it is about, often empty."""

    lead: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    review_id: str
    title: Title
    excerpt: str
    agent_id: str
    why: str
    proposed_at: datetime
    risk: Risk

    @property
    def order(self) -> Order:
        return _order(self.risk, self.proposed_at, self.review_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueGroup:
    risk: Risk
    rows: tuple[QueueRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """The list as of ``cursor``, which rises with every change in the workspace."""

    cursor: int
    waiting: int
    groups: tuple[QueueGroup, ...]

    @property
    def rows(self) -> tuple[QueueRow, ...]:
        """In the order shown."""
        return tuple(row for group in self.groups for row in group.rows)

    @property
    def unlisted(self) -> int:
        """How many wait beyond those listed."""
        return self.waiting - len(self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One side of a field: a text, or a point in time."""

    text: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRow:
    path: str
    kind: Kind
    before: Value | None
    after: Value | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A memory the agent already has about the same thing."""

    memory_id: str
    content: str
    since: datetime
    others: int
    """Further memories that would be replaced with it."""
    replaces: bool
    """Whether approving replaces it, unless the reviewer chooses otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """What a remember would add, beside what is known about the same thing."""

    content: str
    hidden: int
    """Characters a reader would not see, shown by name."""
    fields: tuple[FieldRow, ...]
    unchanged: tuple[FieldRow, ...]
    known: Comparison | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """One memory a forget would take. ``has_moved``: it changed since the proposal was made."""

    memory_id: str
    content: str
    type: str
    confidence: float
    since: datetime
    has_moved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Removals:
    shown: tuple[Removal, ...]
    total: int
    is_for_good: bool

    @property
    def unlisted(self) -> int:
        return self.total - len(self.shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merger:
    """What a merge makes of the memory that stays, and the memories that go into it."""

    survivor: Addition | None
    """None once it was decided: then only what went is told."""
    removals: Removals


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing an approval does; ``choice`` says with which of the reviewer's choices only."""

    text: str
    choice: str = ""
    """``replace`` | ``add`` | empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One reason why the proposal was stopped, or needs care.

    ``quote`` is the agent's text; ``sentence`` and ``name`` are an admin's.
    """

    title: str
    detail: str
    quote: str = ""
    name: str = ""
    """The rule that stopped it."""
    sentence: str = ""
    """What that version of the rule says."""
    rule_id: int | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    source: str | None
    agent_id: str
    user_id: str | None
    key: str
    owner: str
    reason: str
    """The agent's own, where it gave one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one person decided."""

    person: str
    verb: str
    at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    review_id: str
    shown: str
    """The digest a decision is bound to."""
    title: Title
    what: str
    risk: Risk
    proposed_at: datetime
    origin: Origin
    change: Addition | Removals | Merger | None
    """None once the words were erased."""
    flags: tuple[Flag, ...]
    effects: tuple[Effect, ...]
    approve_label: str
    verdicts: tuple[Verdict, ...]
    is_pending: bool
    has_moved: bool
    """A memory it would change is no longer what it was: approving it would be refused."""
    may_decide: bool
    is_proposer: bool
    """The viewer answers for the key that proposed it: approving it would be refused."""
    sees_rules: bool

    @property
    def order(self) -> Order:
        """The place it has, or had, in the queue."""
        return _order(self.risk, self.proposed_at, self.review_id)

    @property
    def is_addition(self) -> bool:
        return isinstance(self.change, Addition)

    @property
    def is_merge(self) -> bool:
        return isinstance(self.change, Merger)

    @property
    def may_edit(self) -> bool:
        """Whether the viewer may approve another text than the proposed one."""
        return self.is_pending and self.is_addition and self.may_approve

    @property
    def has_choice(self) -> bool:
        """Whether the reviewer chooses what becomes of what is known."""
        return isinstance(self.change, Addition) and self.change.known is not None

    @property
    def form(self) -> str:
        """The id of the form that approves."""
        return "approve-panel" if self.is_careful else "approve-form"

    @property
    def is_careful(self) -> bool:
        """Whether approving asks for a written reason first."""
        return self.risk is Risk.HIGH

    @property
    def may_approve(self) -> bool:
        return self.may_decide and not self.is_proposer and not self.has_moved

    @property
    def last(self) -> Verdict | None:
        return self.verdicts[-1] if self.verdicts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something the reader must know before going on."""

    title: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a reviewer had typed into a form that was not taken: it is shown again, not lost."""

    verdict: str = ""
    reason: str = ""
    content: str | None = None

    @property
    def panel(self) -> str:
        """The panel it was typed into, if anything was."""
        if self.content is not None:
            return "edit"
        return self.verdict if self.reason else ""

    @property
    def text(self) -> str:
        """All of it, once there is no form left to put it into."""
        return "\n\n".join(text for text in (self.content, self.reason) if text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toast:
    """What the reader's last decision did."""

    review_id: str
    verb: str
    title: Title


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    sequence: int
    at: datetime
    event: str
    """What happened, in words."""
    actor: str
    actor_kind: str
    actor_key: str
    """Names the actor exactly, where the name shown may be several people's."""
    agent_id: str
    memory_id: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditDetail:
    """Everything one row says. ``words`` is None where none were sealed or they are erased."""

    row: AuditRow
    code: str
    """The action's stable name."""
    request_id: str
    operation_id: str
    review_id: str
    memory_version: int | None
    mac: str
    previous_mac: str
    commitment: str
    facts: str
    words: str | None
    erased: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """Rows newest first, and signed cursors to the pages on either side."""

    total: int
    found: int
    """How many of them meet the filter."""
    rows: tuple[AuditRow, ...]
    newer: str
    older: str
    opened: AuditDetail | None = None
