"""What the sqlite-vec file promises beyond what every replica does."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from stores.adapters.sqlite_vec import SqliteVecReplica, database
from stores.errors import EmbedderMismatch, StoreRefused, StoreUnavailable
from stores.protocol import Scope
from stores.testing import HashEmbedder
from stores.wire import MemoryType
from tests.stores.builders import EMBEDDER, a_state

AGENT = Scope(agent_id="agent")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.db"


def open_file(path: Path, workspace: str = "w") -> SqliteVecReplica:
    return SqliteVecReplica(path, workspace=workspace, embedder=EMBEDDER)


@pytest.fixture
async def replica(path: Path) -> AsyncIterator[SqliteVecReplica]:
    replica = open_file(path)
    yield replica
    await replica.close()


async def found(replica: SqliteVecReplica, query: str, limit: int = 10) -> list[str]:
    vector = EMBEDDER.embed([query])[0]
    result = await replica.search(AGENT, text=query, vector=vector, limit=limit)
    return [candidate.id for candidate in result.candidates]


def bytes_on_disk(path: Path) -> bytes:
    """The file with its write-ahead log and shared memory, as a thief of the disk would read it."""
    return b"".join(file.read_bytes() for file in path.parent.glob(path.name + "*"))


# --- erasing -------------------------------------------------------------------------------------

SECRET = "zanzibarquartz pelicanomega"


async def test_no_byte_of_an_erased_memory_is_left_on_disk(path: Path, replica: SqliteVecReplica):
    others = [a_state(f"o{number}", f"another note {number}") for number in range(50)]
    secret = a_state(
        "s", SECRET, user_id="userjellybean", metadata={"key": "metamarmalade"}, source="srcnutmeg"
    )
    await replica.put([*others, secret])
    await replica.put([a_state("s", f"{SECRET} edited", user_id="userjellybean", version=2)])
    assert secret.vector is not None
    traces = [b"zanzibarquartz", b"pelicanomega", b"userjellybean", b"metamarmalade", b"srcnutmeg"]
    traces += [b"zanzibar", secret.vector.tobytes()[:32]]
    before = bytes_on_disk(path)
    assert all(trace in before for trace in traces)
    await replica.erase({"s": 3})
    after = bytes_on_disk(path)
    assert [trace for trace in traces if trace in after] == []
    assert len(await found(replica, "another note", limit=100)) == 50


async def test_erasing_waits_for_a_reader_and_says_if_it_does_not_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(database, "CHECKPOINT_TIMEOUT_SECONDS", 0.0)
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 10)
    writer = open_file(path)
    await writer.put([a_state("s", SECRET)])
    reader = apsw.Connection(str(path))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memory").fetchall()
    with pytest.raises(StoreUnavailable, match="traces"):
        await writer.erase({"s": 2})
    assert await found(writer, SECRET) == []
    reader.execute("ROLLBACK")
    await writer.erase({"s": 2})
    assert b"zanzibarquartz" not in bytes_on_disk(path)
    reader.close()
    await writer.close()


async def test_compacting_gives_space_back(path: Path, replica: SqliteVecReplica):
    await replica.put([a_state(f"m{number}", "long " * 500) for number in range(300)])
    await replica.erase({f"m{number}": 2 for number in range(299)})
    before = path.stat().st_size
    await replica.compact()
    assert path.stat().st_size < before / 2
    assert await found(replica, "long") == ["m299"]


# --- the embedder --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other", [HashEmbedder(model_id="another"), HashEmbedder(EMBEDDER.dimensions * 2)]
)
def test_another_embedder_is_refused_loudly(
    path: Path, replica: SqliteVecReplica, other: HashEmbedder
):
    with pytest.raises(EmbedderMismatch, match="hash"):
        SqliteVecReplica(path, workspace="w", embedder=other)


async def test_a_vector_of_another_size_is_refused_whole(replica: SqliteVecReplica):
    wrong = a_state("b", "x", state={"vector": np.ones(3, dtype=np.float32)})
    with pytest.raises(StoreRefused, match="b: not a vector"):
        await replica.put([a_state("a", "x"), wrong])
    assert await replica.fetch(["a"]) == []


# --- one file, many users ------------------------------------------------------------------------


async def test_workspaces_of_one_file_do_not_see_each_other(path: Path, replica: SqliteVecReplica):
    other = open_file(path, workspace="other")
    await replica.put([a_state("same-id", "mine")])
    await other.put([a_state("same-id", "theirs")])
    assert [s.record.content for s in await replica.fetch(["same-id"])] == ["mine"]
    assert [s.record.content for s in (await other.scan()).records] == ["theirs"]
    await other.erase({"same-id": 2})
    assert await found(replica, "mine") == ["same-id"]
    assert await found(other, "mine") == []
    await other.close()


def store_threads() -> int:
    return sum(thread.name.startswith("sqlite-vec") for thread in threading.enumerate())


async def test_workspaces_of_one_file_share_its_threads(path: Path):
    opened = [open_file(path, workspace=f"w{number}") for number in range(10)]
    await asyncio.gather(*(each.put([a_state(f"m{at}")]) for at, each in enumerate(opened)))
    await asyncio.gather(*(found(each, "x") for each in opened))
    assert store_threads() <= 1 + database.READERS
    for each in opened[:-1]:
        await each.close()
    assert await found(opened[-1], "x") == ["m9"]
    await opened[-1].close()
    assert store_threads() == 0


async def test_what_was_put_is_there_after_reopening(path: Path):
    first = open_file(path)
    await first.put([a_state("a", "kept")])
    await first.close()
    second = open_file(path)
    assert await found(second, "kept") == ["a"]
    await second.close()


_ANOTHER_PROCESS = """
import asyncio, sys
from pathlib import Path
from tests.stores.builders import EMBEDDER, a_state
from stores.adapters.sqlite_vec import SqliteVecReplica

async def main(path, name):
    replica = SqliteVecReplica(Path(path), workspace="w", embedder=EMBEDDER)
    for number in range(40):
        await replica.put([a_state(f"{name}-{number}", f"note {number}")])
    await replica.close()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_several_processes_write_one_new_file(path: Path):
    def write(name: str) -> "subprocess.CompletedProcess[bytes]":
        command = [sys.executable, "-c", _ANOTHER_PROCESS, str(path), name]
        return subprocess.run(command, capture_output=True, check=False)

    results = await asyncio.gather(*(asyncio.to_thread(write, name) for name in "abc"))
    assert [result.stderr for result in results] == [b"", b"", b""]
    replica = open_file(path)
    assert len((await replica.scan()).records) == 120
    assert len(await found(replica, "note", limit=1_000)) == 120
    await replica.close()


async def test_reads_and_writes_of_one_process_overlap(replica: SqliteVecReplica):
    async def write(number: int) -> None:
        await replica.put([a_state(f"m{number}", f"note {number}")])

    await asyncio.gather(
        *(write(number) for number in range(50)), *(found(replica, "note") for _ in range(50))
    )
    assert len(await found(replica, "note", limit=100)) == 50


# --- searching -----------------------------------------------------------------------------------


async def test_words_are_found_by_their_stem(replica: SqliteVecReplica):
    await replica.put([a_state("a", "she was running"), a_state("b", "a quiet evening")])
    result = await replica.search(AGENT, text="runs", vector=None, limit=1)
    assert [(c.id, c.score) for c in result.candidates] == [("a", 1.0)]


async def test_more_neighbours_than_the_index_gives_are_all_found(replica: SqliteVecReplica):
    states = [a_state(f"m{number:04}", f"w{number % 7}") for number in range(4_200)]
    await replica.put(states)
    result = await replica.search(AGENT, text="?", vector=EMBEDDER.embed(["w3"])[0], limit=4_150)
    assert len({candidate.id for candidate in result.candidates}) == 4_150
    assert not result.exhausted


# --- failing -------------------------------------------------------------------------------------


async def test_the_file_and_its_log_are_the_owner_s_alone(path: Path, replica: SqliteVecReplica):
    await replica.put([a_state("a")])
    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert modes == dict.fromkeys(["memories.db", "memories.db-wal", "memories.db-shm"], 0o600)


async def test_a_closed_replica_is_unavailable(path: Path):
    replica = open_file(path)
    await replica.close()
    await replica.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await replica.put([a_state("a")])
    assert not (await replica.health()).ok


def test_a_folder_that_is_missing_is_unavailable(tmp_path: Path):
    with pytest.raises(StoreUnavailable):
        open_file(tmp_path / "missing" / "memories.db")


def test_a_file_that_is_no_database_is_refused(path: Path):
    path.write_bytes(b"this is a text file, not a database" * 100)
    with pytest.raises(StoreRefused):
        open_file(path)


async def test_a_file_of_the_first_version_learns_about_sessions(path: Path):
    replica = open_file(path)
    sessions: list[Any] = ["Zoë", 7, None, True, ["x"]]
    await replica.put(
        [
            a_state(f"m{at}", type=MemoryType.EPISODIC, metadata={"session": session})
            for at, session in enumerate(sessions)
        ]
    )
    await replica.close()
    connection = apsw.Connection(str(path))
    read = "SELECT id, session FROM memory ORDER BY id"
    written = connection.execute(read).fetchall()
    connection.execute("DROP INDEX memory_sessions; ALTER TABLE memory DROP COLUMN session")
    connection.pragma("user_version", 1)
    await open_file(path).close()
    assert connection.execute(read).fetchall() == written
    assert [session for _, session in written] == ['"Zoë"', "7", None, None, None]
    connection.close()


def test_a_file_of_a_later_version_is_refused(path: Path):
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", database.SCHEMA_VERSION + 1)
    connection.close()
    with pytest.raises(StoreRefused, match="schema"):
        open_file(path)


async def test_a_failed_put_leaves_nothing_behind(replica: SqliteVecReplica):
    too_large = a_state("b", version=2**70)
    with pytest.raises(OverflowError):
        await replica.put([a_state("a"), too_large])
    assert await replica.fetch(["a", "b"]) == []


async def test_a_locked_file_is_unavailable(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 10)
    replica = open_file(path)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable):
        await replica.put([a_state("a", "x")])
    other.execute("ROLLBACK")
    await replica.put([a_state("a", "x")])
    assert await found(replica, "x") == ["a"]
    other.close()
    await replica.close()
