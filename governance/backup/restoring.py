"""Bringing a backup back: unpacked and proved beside the data folder, then put in its place."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from django.db import connection
from django.db.migrations.loader import MigrationLoader

from governance.backup import archive

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class RestoreRefused(Exception):
    """Nothing was changed. Says why."""


def restore(source: IO[bytes], home: Path, *, prove: Callable[[Path], None]) -> Path | None:
    """Put an archive in the place of ``home``. Returns where that was moved to, if it was there.

    ``prove`` gets the unpacked folder, brings it up to date and raises if it is not sound.
    Raises: ArchiveRefused, RestoreRefused, and whatever ``prove`` raises; nothing was changed then.
    """
    if connection.vendor != "sqlite":
        raise RestoreRefused(
            "The ledger is in PostgreSQL, and an archive holds an embedded one: unset"
            " MEMORYWIRE_DATABASE_URL, restore, then 'migrate-ledger' into an empty database."
        )
    if home.is_mount():
        raise RestoreRefused(
            f"{home} is mounted and so cannot be exchanged: set MEMORYWIRE_HOME to a folder in it."
        )
    check_unused(home)
    draft = Path(tempfile.mkdtemp(prefix=f".{home.name}-", dir=home.parent))
    try:
        check_known(archive.unpack(source, draft))
        prove(draft)
        check_unused(home)
        return exchange(draft, home)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def check_known(manifest: archive.Manifest) -> None:
    """Raises: RestoreRefused if a newer version of this software made the archive."""
    known = {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations}
    if unknown := [name for name in manifest.migrations if name not in known]:
        raise RestoreRefused(
            f"It was made by version {manifest.version}, which has {unknown[0]}: install that."
        )


def check_unused(home: Path) -> None:
    """Raises: RestoreRefused if any process has the folder's ledger open."""
    ledger = home / archive.LEDGER
    if not ledger.exists():
        return
    with closing(sqlite3.connect(ledger, timeout=0)) as probe:
        try:
            # With write-ahead logging this needs every other connection, however idle, to be gone.
            probe.execute("PRAGMA locking_mode=EXCLUSIVE")
            probe.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode in _BUSY:
                raise RestoreRefused("The server runs on this data folder: stop it.") from error
            # A damaged ledger is a reason to restore, not one against it.


def exchange(draft: Path, home: Path) -> Path | None:
    """Put ``draft`` in the place of ``home``, which moves aside."""
    aside = None
    if home.exists():
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        aside = home.rename(home.with_name(f"{home.name}.replaced-{stamp}"))
    try:
        draft.rename(home)
    except OSError:
        if aside is not None:
            aside.rename(home)
        raise
    folder = os.open(home.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
    return aside
