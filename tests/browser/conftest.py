"""A served product, and a real Chromium in front of it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from benchmarks.local_server import LocalServer, started
from tests.browser.chromium import launched, log_in
from tests.browser.stage import add_person

OpenPage = Callable[..., Page]
Propose = Callable[..., dict[str, Any]]


@pytest.fixture(scope="package")
def server() -> Iterator[LocalServer]:
    with started() as running:
        yield running


# Ends with this package: while Playwright runs, this thread counts as inside an event loop, which
# the tests of other packages must not be.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with launched() as chromium:
        yield chromium


@pytest.fixture
def open_page(server: LocalServer, browser: Browser) -> Iterator[OpenPage]:
    """Opens a page as a person, the admin unless another is named, in a browser of their own.

    A script error or a breach of the content security policy fails the test.
    """
    contexts = []
    errors: list[str] = []

    def open_as(
        path: str = "/queue", *, email: str = "", password: str = "", **options: Any
    ) -> Page:
        context = browser.new_context(base_url=server.address, reduced_motion="reduce", **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "console",
            lambda line: errors.append(line.text) if "Content Security" in line.text else None,
        )
        page.goto(path)
        log_in(page, email or server.email, password or server.password)
        page.wait_for_url(f"**{path}")
        return page

    yield open_as
    for context in contexts:
        context.close()
    assert errors == []


@pytest.fixture
def propose(server: LocalServer) -> Propose:
    """Has an agent ask to remember something; answers as the API did, with ``path`` added."""

    def ask(content: str, **extra: Any) -> dict[str, Any]:
        body = {
            "agent_id": "concierge-7",
            "type": "semantic",
            "content": content,
            "approval_required": True,
            **extra,
        }
        with server.client() as client:
            answer = client.post("/v0/remember", json=body)
        assert answer.status_code in {200, 202}, answer.text
        said = dict(answer.json())
        url = said["approval_url"]
        return {**said, "path": url.removeprefix(server.address) if url else None}

    return ask


@pytest.fixture(scope="package")
def second_person(server: LocalServer) -> dict[str, str]:
    """The credentials of another reviewer."""
    login = add_person(server, "second@example.com", "Mei Tanaka", "reviewer")
    return {"email": login.email, "password": login.password}


def expect_live(page: Page) -> None:
    """The page has heard from the server."""
    expect(page.locator("#live")).to_be_visible()
