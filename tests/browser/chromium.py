"""The Chromium that the browser tests and the screenshots share."""

import base64
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
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


def code_now(secret: str) -> str:
    """What an authenticator app that was given the secret shows now."""
    app = TOTP(base64.b32decode(secret), 6, SHA1(), 30, enforce_key_length=False)  # noqa: S303
    return app.generate(int(time.time())).decode()


def log_in(page: Page, email: str, password: str) -> None:
    """Fill the form that is shown; the page it leads to is still to come."""
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(password)
    page.keyboard.press("Enter")
