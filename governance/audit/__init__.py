"""The audit log: ``append`` adds, ``verify`` proves, ``read`` shows. Nothing here edits."""

from governance.audit.append import Actor, Entry, append
from governance.audit.digest import state_digest
from governance.audit.read import access_row, head, rows_before, words
from governance.audit.verify import Finding, verify

__all__ = [
    "Actor",
    "Entry",
    "Finding",
    "access_row",
    "append",
    "head",
    "rows_before",
    "state_digest",
    "verify",
    "words",
]
