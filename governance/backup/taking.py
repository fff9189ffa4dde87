"""Taking a backup, while the server serves and writes."""

import fcntl
import os
import platform
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import django
from django.conf import settings
from django.db import connection

from governance.backup import archive
from governance.models import Delivery, MemoryVector

_COPY = ".backup"
_ATTEMPTS = 3
_CHECKPOINT_WAIT_MS = 1_000


class BackupFailed(Exception):
    """There is no backup. Says why."""


def take(target: IO[bytes]) -> archive.Manifest:
    """Stream an archive of the installation as it is now.

    Raises: BackupFailed; ``target`` then holds nothing of use.
    """
    if connection.vendor != "sqlite":
        raise BackupFailed(
            "The ledger is in PostgreSQL: take it with pg_dump, and the folder 'secrets' with it."
            " docs/operations.md has the commands."
        )
    home = Path(settings.HOME)
    with _only_one(home), _folder(home / _COPY) as copy:
        taken_at = datetime.now(UTC)
        _copy_all(home, copy)
        manifest = _describe(copy, taken_at)
        archive.write(target, manifest, copy)
        return manifest


def _copy_all(home: Path, copy: Path) -> None:
    """The secrets as they were before and after the ledger was copied, so that they open it."""
    for _ in range(_ATTEMPTS):
        secrets = _read_secrets(home)
        _copy_ledger(copy / archive.LEDGER)
        if _read_secrets(home) == secrets:
            _write_secrets(copy, secrets)
            return
    raise BackupFailed("The secrets changed all the while. Try again.")


def _read_secrets(home: Path) -> dict[str, bytes]:
    # A dot begins the draft of a secret that is being made.
    files = [path for path in (home / "secrets").iterdir() if not path.name.startswith(".")]
    if odd := [path.name for path in files if not archive.may_hold(f"secrets/{path.name}")]:
        raise BackupFailed(f"secrets/{odd[0]} has a name that a backup cannot hold: rename it.")
    return {path.name: path.read_bytes() for path in files}


def _write_secrets(copy: Path, secrets: dict[str, bytes]) -> None:
    (copy / "secrets").mkdir(mode=0o700)
    for name, content in secrets.items():
        (copy / "secrets" / name).write_bytes(content)


def _copy_ledger(target: Path) -> None:
    """One moment of the ledger, whole, and of use wherever it is put.

    SQLite's own backup in a single step: a read transaction, which no writer waits for.
    """
    target.unlink(missing_ok=True)
    path = Path(connection.settings_dict["NAME"]).absolute()
    with (
        closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=20)) as ledger,
        closing(sqlite3.connect(target)) as copy,
    ):
        ledger.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")  # a single file
        _say_no_store_has_anything(copy)
        (verdict,) = copy.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise BackupFailed(f"The ledger is damaged: {verdict}.")
        # Words erased meanwhile could not leave the write-ahead log while it was read.
        ledger.execute(f"PRAGMA busy_timeout={_CHECKPOINT_WAIT_MS}")
        ledger.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _say_no_store_has_anything(copy: sqlite3.Connection) -> None:
    with copy:
        copy.execute(
            f"UPDATE {Delivery._meta.db_table} SET delivered_version = 0, due_at_ms = 0, "
            "attempts = 0, claim = '', lease_expires_at_ms = 0"
        )


def _describe(copy: Path, taken_at: datetime) -> archive.Manifest:
    with closing(sqlite3.connect(copy / archive.LEDGER)) as ledger:
        migrations = ledger.execute("SELECT app || '.' || name FROM django_migrations ORDER BY 1")
        models = ledger.execute(f"SELECT DISTINCT model_id FROM {MemoryVector._meta.db_table}")
        return archive.Manifest(
            taken_at=taken_at,
            version=settings.VERSION,
            python=platform.python_version(),
            django=django.get_version(),
            sqlite=sqlite3.sqlite_version,
            migrations=[name for (name,) in migrations],
            embedders=[name for (name,) in models],
            members=archive.describe(copy),
        )


@contextmanager
def _only_one(home: Path) -> Iterator[None]:
    """Keep a second backup of the same installation away; the lock goes with the process."""
    folder = os.open(home, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BackupFailed("Another backup of this installation is being taken.") from error
        yield
    finally:
        os.close(folder)


@contextmanager
def _folder(path: Path) -> Iterator[Path]:
    """An empty folder for its owner alone, gone at the end."""
    shutil.rmtree(path, ignore_errors=True)  # of a backup that was killed
    path.mkdir(mode=0o700)
    try:
        yield path
    finally:
        shutil.rmtree(path)
