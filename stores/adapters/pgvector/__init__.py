"""PostgreSQL 16 or newer with pgvector 0.8: many workspaces in one database."""

from stores.adapters.pgvector import address
from stores.adapters.pgvector.database import discard
from stores.adapters.pgvector.replica import PgvectorReplica

__all__ = ["PgvectorReplica", "address", "discard"]
