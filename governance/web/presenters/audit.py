"""The audit log: a page of rows, and everything one row says."""

import json
from typing import Any

from governance import audit
from governance.models import AuditRow
from governance.web import cursors, page
from governance.web.presenters.reading import moment

_ROWS_PER_PAGE = 50
_EVENTS = {
    "memory.remembered": "Remembered",
    "memory.staged": "Proposed, staged",
    "memory.approved": "Approved",
    "memory.rejected": "Rejected",
    "memory.forgotten": "Forgotten",
    "memory.expired": "Expired",
    "memory.edited": "Edited before approval",
    "memory.superseded": "Replaced",
    "memory.merged": "Merged",
    "memory.archived": "Archived",
    "memory.demoted": "Demoted",
    "merge.staged": "Merge proposed",
    "merge.rejected": "Merge rejected",
    "forget.staged": "Forget proposed",
    "forget.rejected": "Forget rejected",
    "forget.not_found": "Forget of unknown ids",
    "decision.refused": "Decision refused",
}


def log(workspace_id: str, *, cursor: str = "", opened: AuditRow | None = None) -> page.AuditPage:
    """The rows before a cursor, the newest without one; those from an opened row on.

    Raises: BadRequest if the cursor is not one this workspace was given.
    """
    newest = audit.head(workspace_id)
    if opened is not None:
        before = opened.sequence + 1
    else:
        before = cursors.read(workspace_id, cursor) if cursor else newest + 1
    rows = audit.rows_before(workspace_id, before, limit=_ROWS_PER_PAGE)
    return page.AuditPage(
        total=newest,
        rows=tuple(map(_row, rows)),
        newer=cursors.sign(workspace_id, before + _ROWS_PER_PAGE) if before <= newest else "",
        older=cursors.sign(workspace_id, rows[-1].sequence)
        if rows and rows[-1].sequence > 1
        else "",
        opened=detail(opened) if opened is not None else None,
    )


def detail(row: AuditRow) -> page.AuditDetail:
    words = audit.words(row)
    return page.AuditDetail(
        row=_row(row),
        code=row.action,
        request_id=row.request_id,
        operation_id=row.operation_id,
        review_id=row.review_id,
        memory_version=row.memory_version,
        mac=row.mac,
        previous_mac=row.previous_mac,
        commitment=row.commitment,
        facts=_json(row.facts) if row.facts else "",
        words=None if words is None else _json(words),
        erased=words is None and row.sealed is not None,
    )


def _row(row: AuditRow) -> page.AuditRow:
    return page.AuditRow(
        sequence=row.sequence,
        at=moment(row.at_ms),
        event=_EVENTS.get(row.action) or row.action.replace(".", " ").replace("_", " "),
        actor=row.actor_label,
        actor_kind=row.actor_kind,
        agent_id=row.agent_id,
        memory_id=row.memory_id,
        digest=row.state_digest,
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
