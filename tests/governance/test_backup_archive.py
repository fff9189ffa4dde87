"""The archive's format: what is taken in, and everything that is refused."""

import io
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings

from governance import outbox, stores_runtime
from governance.backup import archive, restoring, taking
from governance.models import Delivery
from tests.profiles import embedded_only, grown_only
from tests.world import World

Change = Callable[[tarfile.TarInfo, bytes], tuple[tarfile.TarInfo, bytes]]


@pytest.fixture
def taken(tmp_path: Path) -> bytes:
    """A small archive, well formed."""
    folder = tmp_path / "taken"
    (folder / "secrets").mkdir(parents=True)
    (folder / "ledger.sqlite3").write_bytes(b"ledger" * 1_000)
    (folder / "secrets" / "master.key").write_text("ab" * 32)
    manifest = archive.Manifest(
        taken_at=datetime.now(UTC),
        version="1",
        python="3",
        django="5",
        sqlite="3",
        migrations=[],
        embedders=[],
        members=archive.describe(folder),
    )
    target = io.BytesIO()
    archive.write(target, manifest, folder)
    return target.getvalue()


def changed(taken: bytes, name: str, change: Change) -> bytes:
    """The archive with one member changed on the way."""
    target = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(taken)) as old,
        tarfile.open(fileobj=target, mode="w") as new,
    ):
        for info in old:
            content = old.extractfile(info)
            assert content is not None
            info, data = (
                change(info, content.read()) if info.name == name else (info, content.read())
            )
            info.size = len(data)
            new.addfile(info, io.BytesIO(data))
    return target.getvalue()


def renamed(name: str) -> Change:
    def change(info: tarfile.TarInfo, data: bytes) -> tuple[tarfile.TarInfo, bytes]:
        info.name = name
        return info, data

    return change


def linked(info: tarfile.TarInfo, data: bytes) -> tuple[tarfile.TarInfo, bytes]:
    info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return info, b""


def flipped(info: tarfile.TarInfo, data: bytes) -> tuple[tarfile.TarInfo, bytes]:
    return info, data[:-1] + bytes([data[-1] ^ 1])


def test_what_was_written_is_unpacked_for_its_owner_alone(taken: bytes, tmp_path: Path) -> None:
    target = tmp_path / "unpacked"
    target.mkdir()
    archive.unpack(io.BytesIO(taken), target)
    assert (target / "ledger.sqlite3").read_bytes() == b"ledger" * 1_000
    assert (target / "secrets" / "master.key").read_text() == "ab" * 32
    assert (target / "secrets" / "master.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("ledger.sqlite3", flipped, "damaged"),
        ("secrets/master.key", flipped, "damaged"),
        ("secrets/master.key", renamed("../outside"), "should not be there"),
        ("secrets/master.key", renamed("/tmp/outside"), "should not be there"),
        ("secrets/master.key", renamed("secrets/other.key"), "should not be there"),
        ("secrets/master.key", renamed("ledger.sqlite3"), "should not be there"),
        ("secrets/master.key", linked, "should not be there"),
        ("manifest.json", renamed("something.json"), "no backup of ours"),
        ("manifest.json", lambda info, data: (info, b"{}"), "cannot be read"),
        ("manifest.json", lambda info, data: (info, data.replace(b"1,", b"2,", 1)), "version"),
    ],
)
def test_an_archive_that_is_not_what_it_was_is_refused(
    taken: bytes, tmp_path: Path, name: str, change: Change, reason: str
) -> None:
    target = tmp_path / "unpacked"
    target.mkdir()
    with pytest.raises(archive.ArchiveRefused, match=reason):
        archive.unpack(io.BytesIO(changed(taken, name, change)), target)
    assert not (tmp_path / "outside").exists()


def test_a_manifest_that_names_a_way_out_is_refused(taken: bytes, tmp_path: Path) -> None:
    (tmp_path / "unpacked").mkdir()
    out = changed(taken, "secrets/master.key", renamed("secrets/../../outside"))
    out = changed(
        out,
        "manifest.json",
        lambda info, data: (
            info,
            data.replace(
                b'"members": {', b'"members": {"secrets/../../outside": {"bytes": 1, "sha256": ""},'
            ),
        ),
    )
    with pytest.raises(archive.ArchiveRefused, match="should not be there"):
        archive.unpack(io.BytesIO(out), tmp_path / "unpacked")
    assert not (tmp_path / "outside").exists()


def test_an_archive_that_lacks_a_member_is_refused(taken: bytes, tmp_path: Path) -> None:
    (tmp_path / "unpacked").mkdir()
    with tarfile.open(fileobj=io.BytesIO(taken)) as tar:
        last = tar.getmembers()[-1]
    with pytest.raises(archive.ArchiveRefused, match=f"lacks {last.name}"):
        archive.unpack(io.BytesIO(taken[: last.offset]), tmp_path / "unpacked")


@pytest.mark.parametrize("kept", [0, 100, 1_000, 3_000, 8_000])
def test_an_archive_that_was_cut_short_is_refused(taken: bytes, tmp_path: Path, kept: int) -> None:
    (tmp_path / "unpacked").mkdir()
    with pytest.raises(archive.ArchiveRefused):
        archive.unpack(io.BytesIO(taken[:kept]), tmp_path / "unpacked")


def test_an_archive_of_a_newer_version_is_refused_with_its_number() -> None:
    manifest = archive.Manifest(
        taken_at=datetime.now(UTC),
        version="9.1",
        python="3",
        django="5",
        sqlite="3",
        migrations=["governance.0001_first", "governance.9000_from_the_future"],
        embedders=[],
        members={},
    )
    with pytest.raises(restoring.RestoreRefused, match=r"9\.1.*9000_from_the_future"):
        restoring.check_known(manifest)


@embedded_only
def test_the_archived_ledger_says_that_no_store_has_anything(world: World, tmp_path: Path) -> None:
    world.remembered("Bob prefers tea")
    stores_runtime.wait(outbox.flush())
    assert Delivery.objects.get().delivered_version == 1
    target = io.BytesIO()
    manifest = taking.take(target)
    assert manifest.embedders
    assert "governance.0001_first" in manifest.migrations
    target.seek(0)
    archive.unpack(target, tmp_path)
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite3")) as ledger:
        rows = ledger.execute(
            "SELECT wanted_version, delivered_version FROM governance_delivery"
        ).fetchall()
    assert rows == [(1, 0)]
    assert Delivery.objects.get().delivered_version == 1
    assert not (settings.HOME / ".backup").exists()


@grown_only
def test_a_ledger_in_postgresql_is_left_to_pg_dump_and_said_so(tmp_path: Path) -> None:
    target = io.BytesIO()
    with pytest.raises(taking.BackupFailed, match="pg_dump"):
        taking.take(target)
    assert not target.getvalue()
    with pytest.raises(restoring.RestoreRefused, match="migrate-ledger"):
        restoring.restore(io.BytesIO(b"any"), tmp_path / "home", prove=lambda _: None)


@embedded_only
def test_of_two_backups_at_once_one_is_refused(world: World) -> None:
    with (
        taking._only_one(settings.HOME),
        pytest.raises(taking.BackupFailed, match="Another backup"),
    ):
        taking.take(io.BytesIO())


def test_an_exchange_that_fails_half_way_leaves_the_old_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "kept").touch()
    with pytest.raises(FileNotFoundError):
        restoring.exchange(tmp_path / "no such draft", home)
    assert (home / "kept").exists()
