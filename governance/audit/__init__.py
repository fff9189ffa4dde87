"""The audit log: ``append`` adds, ``verify`` proves, ``read`` shows. Nothing here edits."""

from governance.audit.append import Actor, Cause, Entry, append, note
from governance.audit.digest import state_digest
from governance.audit.read import access_row, head, rows_before, words
from governance.audit.verify import Finding, verify

__all__ = [
    "Actor",
    "Cause",
    "Entry",
    "Finding",
    "access_row",
    "append",
    "head",
    "note",
    "rows_before",
    "state_digest",
    "verify",
    "words",
]
