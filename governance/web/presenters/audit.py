"""The audit log: a page of rows, and everything one row says."""

import json
from typing import Any

from governance import audit
from governance.models import AuditRow
from governance.web import cursors, page
from governance.web.presenters.reading import moment

_ROWS_PER_PAGE = 50
EVENTS = {
    "memory.remembered": "Remembered",
    "memory.staged": "Proposed, staged",
    "memory.approved": "Approved",
    "memory.rejected": "Rejected",
    "memory.forgotten": "Forgotten",
    "memory.merged": "Merged",
    "memory.expired": "Expired",
    "memory.edited": "Edited before approval",
    "memory.superseded": "Replaced",
    "memory.archived": "Archived",
    "memory.demoted": "Demoted",
    "remember.denied": "Remember denied",
    "remember.refused": "Remember refused",
    "recall.refused": "Recall refused",
    "forget.staged": "Forget proposed",
    "forget.rejected": "Forget rejected",
    "forget.denied": "Forget denied",
    "forget.refused": "Forget refused",
    "forget.not_found": "Forget of unknown ids",
    "merge.staged": "Merge proposed",
    "merge.rejected": "Merge rejected",
    "merge.denied": "Merge denied",
    "merge.refused": "Merge refused",
    "expire.denied": "Expire denied",
    "expire.refused": "Expire refused",
    "import.refused": "Import refused",
    "decision.refused": "Decision refused",
    "rule.added": "Rule added",
    "rule.changed": "Rule changed",
    "rule.switched_on": "Rule switched on",
    "rule.switched_off": "Rule switched off",
    "workspace.renamed": "Workspace renamed",
    "apikey.created": "Key created",
    "account.switched_on": "Account switched on",
    "account.switched_off": "Account switched off",
    "account.password_changed": "Password changed",
    "account.password_reset": "Password reset",
    "account.reset_link_made": "Link for a new password made",
    "account.second_factor_added": "Second factor added",
    "account.second_factor_removed": "Second factor removed",
    "account.recovery_codes_made": "Recovery codes made",
    "invitation.made": "Person invited",
    "invitation.accepted": "Invitation accepted",
    "invitation.withdrawn": "Invitation withdrawn",
    "apikey.rotated": "Key rotated",
    "apikey.limited": "Key's limit changed",
    "apikey.revoked": "Key revoked",
    "member.added": "Member added",
    "member.changed": "Member’s roles changed",
    "member.removed": "Member removed",
    "audit.exported": "Log exported",
    "workspace.created": "Workspace created",
}


def log(
    workspace_id: str,
    *,
    asked: audit.Filter | None = None,
    older_than: str = "",
    newer_than: str = "",
    opened: AuditRow | None = None,
) -> page.AuditPage:
    """The rows on one side of a cursor, the newest without one; those from an opened row on.

    Raises: BadRequest if the cursor is not one this workspace was given.
    """
    asked = asked or audit.Filter()
    newest = audit.head(workspace_id)
    if newer_than:
        place = cursors.read(workspace_id, newer_than)
        found = audit.rows_after(workspace_id, place, limit=_ROWS_PER_PAGE + 1, asked=asked)
        rows = found[-_ROWS_PER_PAGE:]
        has_newer, has_older = len(found) > len(rows), True
    else:
        place = cursors.read(workspace_id, older_than) if older_than else newest + 1
        place = opened.sequence + 1 if opened is not None else place
        found = audit.rows_before(workspace_id, place, limit=_ROWS_PER_PAGE + 1, asked=asked)
        rows = found[:_ROWS_PER_PAGE]
        has_newer, has_older = place <= newest, len(found) > len(rows)
    return page.AuditPage(
        total=newest,
        found=newest if asked.is_empty else audit.count(workspace_id, asked),
        rows=tuple(map(_row, rows)),
        newer=cursors.sign(workspace_id, rows[0].sequence) if rows and has_newer else "",
        older=cursors.sign(workspace_id, rows[-1].sequence) if rows and has_older else "",
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


def event(action: str) -> str:
    """What happened, in words."""
    return EVENTS.get(action) or action.replace(".", " ").replace("_", " ").capitalize()


def _row(row: AuditRow) -> page.AuditRow:
    return page.AuditRow(
        sequence=row.sequence,
        at=moment(row.at_ms),
        event=event(row.action),
        actor=row.actor_label,
        actor_kind=row.actor_kind,
        actor_key=f"{row.actor_kind}:{row.actor_id}",
        agent_id=row.agent_id,
        memory_id=row.memory_id,
        digest=row.state_digest,
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
