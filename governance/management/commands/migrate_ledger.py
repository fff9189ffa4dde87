"""``manage.py migrate-ledger``: move an embedded installation into PostgreSQL."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from governance import execution, ledger_move, stores_runtime
from governance.backup import restoring
from governance.backup.archive import LEDGER
from memorywire_site import databases


class Command(BaseCommand):
    help = (
        "Copy the ledger of the data folder into MEMORYWIRE_DATABASE_URL, prove the copy and have "
        "the stores filled. Stop the server first. It is moved whole or not at all."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--from", dest="source", help="the SQLite file, if it lies elsewhere")

    def handle(self, *, source: str | None, **options: Any) -> None:
        file = Path(source) if source else Path(settings.HOME) / LEDGER
        try:
            restoring.check_unused(file.parent)
            if file.exists():  # connecting would make one
                connections.databases[ledger_move.SOURCE] = connections.configure_settings(
                    {"default": databases.sqlite(file)}
                )["default"]
            for progress in ledger_move.move(file):
                self.stdout.write(f"{progress.table} {progress.done} of {progress.total}")
        except (ledger_move.MoveRefused, restoring.RestoreRefused) as error:
            raise CommandError(f"Nothing was moved. {error}") from error
        finally:
            if ledger_move.SOURCE in connections.databases:
                connections[ledger_move.SOURCE].close()
            execution.close()
            stores_runtime.close()
        self.stdout.write(
            f"Moved and proved. Start the server: it fills the stores. {file} is as it was;"
            " keep it until you are sure, then delete it."
        )
