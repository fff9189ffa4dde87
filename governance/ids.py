"""Identifiers: one ULID per memory, operation and review, sortable by time of making."""

from ulid import ULID


def new_id() -> str:
    """A fresh 26-character ULID."""
    return str(ULID())
