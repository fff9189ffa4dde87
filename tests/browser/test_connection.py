"""Case C41: what happens while a page is cut off is on it when it is back, once each."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, WebSocket, expect

from benchmarks.local_server import LocalServer, installed, serving
from tests.browser.chromium import log_in
from tests.browser.conftest import expect_live
from tests.browser.stage import Login, Stage, add_person, admin_of
from tests.browser.wire import Wire, wired

pytestmark = pytest.mark.browser

BACK_MS = 5_000
"""How soon after the connection is back the page shows what holds."""


@pytest.fixture(scope="module")
def installation() -> Iterator[LocalServer]:
    """A server of this module's own, which its tests start and stop."""
    with installed() as server:
        yield server


@pytest.fixture(scope="module")
def reviewer(installation: LocalServer) -> Login:
    return add_person(installation, "mei@example.com", "Mei Tanaka", "reviewer")


@pytest.fixture
def stage(installation: LocalServer, reviewer: Login) -> Stage:
    people = {"admin": admin_of(installation), "reviewer": reviewer}
    return Stage(server=installation, people=people)


def open_queue(browser: Browser, stage: Stage, address: str) -> Page:
    page = browser.new_context(base_url=address, reduced_motion="reduce").new_page()
    page.goto("/queue")
    log_in(page, stage.people["admin"].email, stage.people["admin"].password)
    page.wait_for_url("**/queue")
    expect_live(page)
    return page


def listed(page: Page) -> list[str]:
    return page.locator(".row").evaluate_all("rows => rows.map((row) => row.dataset.review)")


def test_a_cut_connection(browser: Browser, stage: Stage) -> None:
    with serving(stage.server), wired(stage.server.port) as wire:
        first = [stage.propose(f"Before the cut, number {number}.") for number in range(12)]
        page = open_queue(browser, stage, wire.address)
        sockets: list[WebSocket] = []
        page.on("websocket", lambda socket: sockets.append(socket))
        assert listed(page) == first
        page.keyboard.press("r")
        page.get_by_label("Or in your own words").focus()
        page.keyboard.type("half a thou")
        _cut(wire, page)

        staged = [stage.propose(f"During the cut, number {number}.") for number in range(30)]
        with stage.person("reviewer") as person:
            for review in [*first[2:7], *staged[:5]]:
                person.approve(f"/proposals/{review}")
        assert listed(page) == first  # nothing came through
        page.keyboard.press("Enter")  # nor does a decision leave
        page.keyboard.type("ght")

        wire.mend()
        expect(page.locator(".row")).to_have_count(12 + 30 - 10, timeout=_reconnect_ms())
        assert listed(page) == [*first[:2], *first[7:], *staged[5:]]
        expect(page.locator("[data-waiting]").first).to_have_text("32")
        expect(page.get_by_label("Or in your own words")).to_have_value("half a thought")
        expect(page.locator("#offline-note")).to_be_hidden()

        # And the socket is back too, not only the question every few seconds.
        with sockets[-1].expect_event("framereceived"):
            stage.propose("After the cut.")
        expect(page.locator(".row", has_text="After the cut.")).to_be_visible()
        page.context.close()


def test_a_restarted_server(browser: Browser, stage: Stage) -> None:
    with serving(stage.server):
        page = open_queue(browser, stage, stage.server.address)
        before = listed(page)
    expect(page.locator("#offline-note")).to_be_visible(timeout=15_000)
    with serving(stage.server):
        asked = stage.propose("Made before the page was back.")
        expect(page.locator("#offline-note")).to_be_hidden(timeout=_reconnect_ms())
        expect(page.locator(f".row[data-review='{asked}']")).to_be_visible(timeout=BACK_MS)
        assert listed(page) == [*before, asked]
        page.context.close()


def _cut(wire: Wire, page: Page) -> None:
    wire.cut()
    expect(page.locator("#offline-note")).to_be_visible(timeout=15_000)
    expect(page.locator("#offline")).to_contain_text("Offline since")


def _reconnect_ms() -> int:
    """The page asks every five seconds; a slow machine gets as long again."""
    return 2 * BACK_MS
