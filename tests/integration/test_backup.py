"""Backup while serving and writing, and the way back."""

import hashlib
import itertools
import sqlite3
import tarfile
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from benchmarks.local_server import LocalServer, installed, serving
from governance.backup import archive

ERASED = "Zanzibar-velociraptor-7741"
FACT = {"agent_id": "a", "type": "semantic", "content": "Alice is allergic to peanuts"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedUp:
    """An archive, and what had been acknowledged before its moment. The server still runs."""

    server: LocalServer
    archive: Path
    acknowledged: frozenset[str]


class Writer(threading.Thread):
    """Remembers one thing after another until it is told to stop."""

    def __init__(self, server: LocalServer) -> None:
        super().__init__()
        self._server = server
        self._enough, self.stopping = threading.Event(), threading.Event()
        self.acknowledged: dict[str, datetime] = {}

    def run(self) -> None:
        with self._server.client() as client:
            for number in itertools.count():
                body = {**FACT, "content": f"fact number {number}"}
                answer = client.post("/v0/remember", json=body).raise_for_status()
                self.acknowledged[answer.json()["id"]] = datetime.now(UTC)
                if number == 10:
                    self._enough.set()
                if self.stopping.is_set():
                    return

    def begin(self) -> None:
        self.start()
        assert self._enough.wait(30)


@pytest.fixture(scope="module")
def backed_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BackedUp]:
    target = tmp_path_factory.mktemp("archives") / "backup.tar"
    with installed() as server, serving(server):
        with server.client() as client:
            first = client.post("/v0/remember", json=FACT).json()["id"]
            gone = client.post("/v0/remember", json={**FACT, "content": ERASED}).json()["id"]
            forget = {"agent_id": "a", "ids": [gone], "hard_delete": True}
            client.post("/v0/forget", json=forget).raise_for_status()
        writer = Writer(server)
        writer.begin()
        server.manage("backup", str(target))
        writer.stopping.set()
        writer.join()
        taken_at = manifest_of(target).taken_at
        before = [pk for pk, at in writer.acknowledged.items() if at < taken_at]
        assert len(before) > 10
        assert len(before) < len(writer.acknowledged), "the writer had to wait for the backup"
        yield BackedUp(server=server, archive=target, acknowledged=frozenset([first, *before]))


def manifest_of(path: Path) -> archive.Manifest:
    with tarfile.open(path) as tar:
        content = tar.extractfile(archive.MANIFEST)
        assert content is not None
        return archive.Manifest.model_validate_json(content.read())


def elsewhere(server: LocalServer, home: Path, port: int) -> LocalServer:
    return replace(server, home=home, address=f"http://127.0.0.1:{port}")


def everything_in(folder: Path) -> dict[str, str]:
    """Digest by path, but for what a running server changes by itself."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(("-shm", "-wal", ".log"))
    }


def test_the_archive_is_for_its_owner_and_holds_no_word_erased_before(backed_up: BackedUp) -> None:
    assert backed_up.archive.stat().st_mode & 0o777 == 0o600
    with tarfile.open(backed_up.archive) as tar:
        assert {"manifest.json", "ledger.sqlite3", "secrets/master.key"} <= set(tar.getnames())
    content = backed_up.archive.read_bytes()
    assert ERASED.encode() not in content
    assert b"velociraptor" not in content.lower()
    assert b"fact number 0" in content


def test_an_earlier_backup_is_not_written_over(backed_up: BackedUp) -> None:
    before = backed_up.archive.read_bytes()
    with pytest.raises(RuntimeError, match="exists"):
        backed_up.server.manage("backup", str(backed_up.archive))
    assert backed_up.archive.read_bytes() == before


def test_restored_it_proves_itself_has_every_write_and_recalls(
    backed_up: BackedUp, tmp_path: Path, unused_tcp_port: int
) -> None:
    server = elsewhere(backed_up.server, tmp_path / "fresh", unused_tcp_port)
    said = server.manage("restore", str(backed_up.archive))
    assert "All is well" in said
    assert [path.name for path in tmp_path.iterdir()] == ["fresh"]
    assert server.home.stat().st_mode & 0o777 == 0o700
    listing = "from governance.models import Memory as M; print(*M.objects.values_list('pk'))"
    ids = server.manage("shell", "--no-imports", "--command", listing)
    assert all(memory_id in ids for memory_id in backed_up.acknowledged)
    with serving(server), server.client() as client:
        query = {"agent_id": "a", "query": "peanut allergy", "k": 1}
        (hit,) = client.post("/v0/recall", json=query).json()["results"]
        assert (hit["content"], hit["source_store"]) == (FACT["content"], "sqlite-vec")
        assert httpx.get(f"{server.address}/readyz").status_code == 200


def test_a_folder_with_something_in_it_is_replaced_only_when_asked_and_kept_aside(
    backed_up: BackedUp, tmp_path: Path
) -> None:
    server = elsewhere(backed_up.server, tmp_path / "home", 1)
    server.manage("setup", "--no-samples")
    before = everything_in(server.home)
    with pytest.raises(RuntimeError, match="not empty"):
        server.manage("restore", str(backed_up.archive))
    assert everything_in(server.home) == before
    assert "All is well" in server.manage("restore", str(backed_up.archive), "--replace")
    (aside,) = tmp_path.glob("home.replaced-*")
    assert everything_in(aside) == before
    master = Path("secrets") / "master.key"
    assert (server.home / master).read_bytes() == (backed_up.server.home / master).read_bytes()


def test_a_running_server_is_not_replaced(backed_up: BackedUp) -> None:
    with pytest.raises(RuntimeError, match="stop it"):
        backed_up.server.manage("restore", str(backed_up.archive), "--replace")
    assert httpx.get(f"{backed_up.server.address}/readyz").status_code == 200


def test_a_damaged_archive_is_refused_and_nothing_is_changed(
    backed_up: BackedUp, tmp_path: Path
) -> None:
    content = bytearray(backed_up.archive.read_bytes())
    content[len(content) // 2] ^= 1
    damaged = tmp_path / "damaged.tar"
    damaged.write_bytes(content)
    fresh = elsewhere(backed_up.server, tmp_path / "fresh", 1)
    with pytest.raises(RuntimeError, match="Nothing was changed"):
        fresh.manage("restore", str(damaged))
    assert list((tmp_path / "fresh").iterdir()) == []  # and so a second try needs no --replace
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged.tar", "fresh"]


def test_an_archive_whose_log_does_not_prove_itself_is_refused(
    backed_up: BackedUp, tmp_path: Path
) -> None:
    forged, folder = tmp_path / "forged.tar", tmp_path / "folder"
    folder.mkdir()
    with backed_up.archive.open("rb") as source:
        manifest = archive.unpack(source, folder)
    with closing(sqlite3.connect(folder / archive.LEDGER)) as ledger, ledger:
        ledger.execute("UPDATE governance_memory SET content = 'forged'")
    with forged.open("wb") as target:
        described = manifest.model_copy(update={"members": archive.describe(folder)})
        archive.write(target, described, folder)
    server = elsewhere(backed_up.server, tmp_path / "target", 1)
    with pytest.raises(RuntimeError, match=r"audit verify.*failed"):
        server.manage("restore", str(forged))
    assert list(server.home.iterdir()) == []
