"""Pictures of every page in the list, for people to look at: ``make shots DIR=folder``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Error

from benchmarks.local_server import started
from tests.browser.chromium import launched
from tests.browser.screens import SCHEMES, SCREENS, WIDTHS, Screen, Theatre, dress


def take(screen: Screen, theatre: Theatre, folder: Path) -> None:
    """One picture for each width and theme; narrow ones show the whole length of the page."""
    with theatre.showing(screen) as page:
        for width in WIDTHS:
            for scheme in SCHEMES:
                dress(page, width=width, scheme=scheme)
                page.screenshot(path=folder / f"{screen.name}-{width}-{scheme}.png", full_page=True)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="screens whose name contains this")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    with started() as server, launched() as browser:
        theatre = Theatre(browser, server)
        failed = [
            screen.name
            for screen in SCREENS
            if options.only in screen.name and not _taken(screen, theatre, options.folder)
        ]
        theatre.close()
    if failed:
        sys.exit(f"Not shown: {', '.join(failed)}")


def _taken(screen: Screen, theatre: Theatre, folder: Path) -> bool:
    try:
        take(screen, theatre, folder)
    except Error as error:  # one page that cannot be shown must not hide the others
        sys.stderr.write(f"{screen.name}: {error}\n")
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1:])
