"""The Chromium that the browser tests and the screenshots share."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
]
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser until the block ends.

    While Playwright runs, the calling thread counts as inside an event loop.
    """
    # Without a system's own, Playwright looks for the one it installed.
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        yield chromium
        chromium.close()


def log_in(page: Page, email: str, password: str) -> None:
    """Fill the form that is shown; the page it leads to is still to come."""
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")
