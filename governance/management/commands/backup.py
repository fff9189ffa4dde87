"""``manage.py backup FILE``: an archive of the installation, taken while it serves."""

import os
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from governance.backup import taking
from governance.backup.archive import Manifest


class Command(BaseCommand):
    help = (
        "Write the ledger and the secrets that open it to one archive, readable to you alone. "
        "The server may serve meanwhile. Whoever has the archive can read everything: keep it safe."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="a new file, or - for standard output")

    def handle(self, *, file: str, **options: Any) -> None:
        try:
            manifest = taking.take(sys.stdout.buffer) if file == "-" else _to_file(Path(file))
        except (taking.BackupFailed, OSError) as error:
            raise CommandError(f"There is no backup. {error}") from error
        size = sum(member.bytes for member in manifest.members.values())
        # Standard output may be the archive.
        self.stderr.write(f"Backed up {len(manifest.members)} files, {size} bytes.")


def _to_file(path: Path) -> Manifest:
    """The file appears whole or not at all."""
    if path.exists():
        raise taking.BackupFailed(f"{path} exists; an earlier backup is not written over.")
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
            manifest = taking.take(target)
            target.flush()
            os.fsync(target.fileno())
        draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)
    return manifest
