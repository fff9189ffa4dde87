"""``manage.py restore FILE``: bring an installation back from a backup."""

import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from governance.backup import restoring
from governance.backup.archive import ArchiveRefused


class Command(BaseCommand):
    help = (
        "Check an archive, prove its log, put it in the place of the data folder, fill the stores. "
        "Stop the server first. Until the archive is proved nothing is changed."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="what 'backup' wrote, or - for standard input")
        parser.add_argument(
            "--replace", action="store_true", help="move aside what the data folder holds"
        )

    def handle(self, *, file: str, replace: bool, **options: Any) -> None:
        home = Path(settings.HOME)
        if not (replace or settings.HOME_WAS_EMPTY):
            raise CommandError(f"{home} is not empty. With --replace it is moved aside.")
        try:
            with nullcontext(sys.stdin.buffer) if file == "-" else open(file, "rb") as source:
                aside = restoring.restore(source, home, prove=self._prove)
        except (ArchiveRefused, restoring.RestoreRefused, OSError) as error:
            _leave_empty(home)
            raise CommandError(f"Nothing was changed. {error}") from error
        self._settle(aside)
        self._say(f"Restored to {home}. Filling the stores:")
        if _run(home, "reembed"):
            self.stderr.write("A store could not be filled yet. Start the server: it goes on.")

    def _prove(self, folder: Path) -> None:
        """In processes of their own: these settings hold the secrets of the folder to go."""
        self._say("The archive is whole. Proving its log:")
        for arguments in (("migrate", "--verbosity", "0"), ("audit", "verify")):
            if _run(folder, *arguments):
                raise restoring.RestoreRefused(f"'{' '.join(arguments)}' failed on the archive.")

    def _settle(self, aside: Path | None) -> None:
        if aside is not None and settings.HOME_WAS_EMPTY:
            shutil.rmtree(aside)  # only what these settings made when they were read
        elif aside is not None:
            self._say(f"What was there is in {aside}: delete it once you are sure.")

    def _say(self, line: str) -> None:
        """At once: other processes write to the same place."""
        self.stdout.write(line)
        self.stdout.flush()


def _leave_empty(home: Path) -> None:
    """Take away what these settings made when they were read, so that the next try finds none."""
    if settings.HOME_WAS_EMPTY:
        for made in ("secrets", "static"):
            shutil.rmtree(home / made, ignore_errors=True)


def _run(home: Path, *arguments: str) -> int:
    """A management command on another data folder, its output shown. Returns its exit code."""
    environment = os.environ | {
        "MEMORYWIRE_HOME": str(home),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    command = [sys.executable, "-m", "memorywire_site", *arguments]
    return subprocess.run(command, env=environment, check=False).returncode
