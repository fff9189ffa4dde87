"""Recall over HTTP equals brute force: a slice of ``benchmarks/random_worlds.py``."""

from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from benchmarks import random_worlds
from tests.servers import PostgresServer


@pytest.mark.parametrize("store", ["sqlite-vec", "pgvector"])
def test_recall_returns_exactly_what_is_visible_up_to_k(
    store: str,
    transactional_db: None,
    settings: Settings,
    tmp_path: Path,
    postgres: PostgresServer,
) -> None:
    settings.STORE_URLS = [
        f"sqlite-vec://{tmp_path}/store.db"
        if store == "sqlite-vec"
        else postgres.new_database(scheme="pgvector")
    ]
    report = random_worlds.run(25, noise=400)
    assert report.problems == []
    assert report.recalled > 100
