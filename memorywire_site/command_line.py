"""The command line: ``manage.py`` in a source tree, ``memorywire`` once installed."""

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memorywire_site.settings")
    execute_from_command_line(sys.argv)
