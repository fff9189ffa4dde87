"""The command line: ``manage.py`` in a source tree, ``memorywire`` once installed."""

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memorywire_site.settings")
    # Commands are modules, and a module's name holds no hyphen: migrate-ledger is migrate_ledger.
    program, *arguments = sys.argv
    arguments[:1] = [name.replace("-", "_") if name[:1] != "-" else name for name in arguments[:1]]
    execute_from_command_line([program, *arguments])
