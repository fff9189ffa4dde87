"""``manage.py migrate-ledger``: move an embedded installation into PostgreSQL."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from governance import ledger_move
from governance.backup import restoring


class Command(BaseCommand):
    help = (
        "Copy the ledger of the data folder into MEMORYWIRE_DATABASE_URL and prove the copy. Stop "
        "the server first. It is moved whole or not at all."
    )

    def handle(self, **options: Any) -> None:
        file = Path(settings.EMBEDDED_LEDGER["NAME"])
        try:
            restoring.check_unused(file.parent)
            if not file.exists():
                raise ledger_move.MoveRefused(f"There is no ledger at {file}.")
            connections.databases[ledger_move.SOURCE] = connections.configure_settings(
                {"default": settings.EMBEDDED_LEDGER}
            )["default"]
            for progress in ledger_move.move():
                self.stdout.write(f"{progress.table} {progress.done} of {progress.total}")
        except (ledger_move.MoveRefused, restoring.RestoreRefused) as error:
            raise CommandError(f"Nothing was moved. {error}") from error
        self.stdout.write(
            f"Moved and proved. Start the server: it fills the stores. {file} is as it was;"
            " keep it until you are sure, then delete it."
        )
