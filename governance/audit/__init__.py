"""The audit log: ``append`` adds, ``verify`` proves, ``read`` shows, ``export`` writes out.

Nothing here edits.
"""

from governance.audit.append import Actor, Cause, Entry, append, note
from governance.audit.digest import state_digest
from governance.audit.export import as_csv, as_jsonl
from governance.audit.read import (
    Filter,
    access_row,
    count,
    head,
    of_memory,
    rows_after,
    rows_before,
    words,
)
from governance.audit.verify import Finding, verify

__all__ = [
    "Actor",
    "Cause",
    "Entry",
    "Filter",
    "Finding",
    "access_row",
    "append",
    "as_csv",
    "as_jsonl",
    "count",
    "head",
    "note",
    "of_memory",
    "rows_after",
    "rows_before",
    "state_digest",
    "verify",
    "words",
]
