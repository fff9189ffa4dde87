"""The audit log: ``append`` adds, ``verify`` proves. Nothing here edits."""

from governance.audit.append import Actor, Entry, append
from governance.audit.verify import Finding, verify

__all__ = ["Actor", "Entry", "Finding", "append", "verify"]
