"""``manage.py audit verify``: does the log prove itself?"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from governance.audit import verify
from governance.models import AuditRow, Memory

_SHOWN = 50


class Command(BaseCommand):
    help = "Hold every audit row against its neighbours and every memory against its last row."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("verify", help="exit 0 if all is well, 1 with what is wrong")

    def handle(self, *, action: str, **options: Any) -> None:
        found = 0
        for finding in verify():
            found += 1
            if found <= _SHOWN:
                self.stdout.write(f"{finding.where}: {finding.problem}")
        if found:
            raise CommandError(f"{found} findings: the ledger is not what the audit log says.")
        self.stdout.write(
            f"All is well: {AuditRow.objects.count()} rows, {Memory.objects.count()} memories."
        )
