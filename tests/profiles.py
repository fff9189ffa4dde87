"""The two profiles the tests run on: embedded (SQLite), and grown (PostgreSQL and Redis)."""

import pytest
from django.db import connection

from governance import stores_runtime

PRIMARY = stores_runtime.store_names()[0]
"""The store a write answers for: sqlite-vec, or pgvector."""

embedded_only = pytest.mark.skipif(
    connection.vendor != "sqlite", reason="about SQLite's own files and statements"
)
grown_only = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="about PostgreSQL's own means"
)
