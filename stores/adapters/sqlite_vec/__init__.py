"""The embedded store: one SQLite file with sqlite-vec for vectors and FTS5 for words."""

from stores.adapters.sqlite_vec.replica import SqliteVecReplica

__all__ = ["SqliteVecReplica"]
