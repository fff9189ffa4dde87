"""From a URL to a store."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stores.errors import StoreRefused, UnknownStore
from stores.registry import open_replica
from tests.stores.builders import EMBEDDER, a_state


def test_an_unknown_store_is_refused_with_the_known_ones():
    with pytest.raises(UnknownStore, match=r"'redis'.*sqlite-vec") as refusal:
        open_replica("redis://user:secret@host", workspace="w", embedder=EMBEDDER)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("url", ["sqlite-vec", "", "/tmp/file.db"])
def test_what_is_no_url_is_refused(url: str):
    with pytest.raises(UnknownStore):
        open_replica(url, workspace="w", embedder=EMBEDDER)


def test_a_sqlite_vec_url_without_a_file_is_refused():
    with pytest.raises(StoreRefused, match="names no file"):
        open_replica("sqlite-vec://", workspace="w", embedder=EMBEDDER)


async def test_a_relative_path_starts_at_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    replica = open_replica("sqlite-vec://./mem.db", workspace="w", embedder=EMBEDDER)
    await replica.close()
    assert os.listdir(tmp_path) == ["mem.db"]


async def test_every_opened_memory_store_is_a_new_one():
    first = open_replica("memory://x", workspace="w", embedder=EMBEDDER)
    await first.put([a_state("a")])
    second = open_replica("memory://x", workspace="w", embedder=EMBEDDER)
    assert first.name == second.name == "x"
    assert await second.fetch(["a"]) == []


def test_adapters_are_imported_only_when_used():
    code = "import sys, stores.registry; print('apsw' in sys.modules, 'django' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert result.stdout.split() == [b"False", b"False"]
