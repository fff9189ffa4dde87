"""Case C37: whatever an agent sends is text on every page, and nothing of it ever runs."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocket, expect

from benchmarks.local_server import LocalServer
from tests.browser.conftest import OpenPage, Propose, expect_live

pytestmark = pytest.mark.browser

PAYLOADS = [
    "<img src=x onerror=alert(1)>",
    "</script><svg onload=alert(1)>",
    "javascript:alert(1)",
    "{{7*7}}",
    "[x](javascript:alert(1))",
    '<div hx-get="/api" hx-trigger="load">x</div>',
    '" autofocus onfocus="alert(1)" hx-get="/api" x="',
    "<!--<iframe srcdoc='<script>parent.alert(1)</script>'>",
]


class Watched:
    """A page and everything a payload could have done to it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.ran: list[str] = []
        self.requested: list[str] = []
        self.received: list[str] = []
        page.on("dialog", lambda dialog: self.ran.append(dialog.message))
        page.on("request", lambda request: self.requested.append(request.url))
        page.on("websocket", self._listen)
        page.add_init_script("window.ran = 0; window.alert = () => { window.ran += 1; };")

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framereceived", lambda frame: self.received.append(str(frame)))

    def go(self, path: str) -> None:
        self.page.goto(path)
        self.assert_inert()

    def assert_inert(self) -> None:
        assert self.page.evaluate("window.ran") == 0
        assert self.ran == []
        assert not [url for url in self.requested if url.endswith(("/api", "/x"))]
        assert self.page.locator("img, iframe, script:not([src])").count() == 0


@pytest.fixture
def watched(open_page: OpenPage) -> Watched:
    return Watched(open_page())


def everywhere(payload: str) -> dict[str, Any]:
    return {
        "agent_id": payload,
        "user_id": payload,
        "source": payload,
        "metadata": {payload: payload, "entity": payload, "attribute": payload},
    }


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_payload_is_text_in_list_diff_toast_and_audit(
    watched: Watched, server: LocalServer, propose: Propose, payload: str
) -> None:
    page = watched.page
    known = propose(f"before {payload}", approval_required=False, **everywhere(payload))
    watched.go("/queue")
    expect_live(page)

    asked = propose(f"after {payload}", **everywhere(payload))
    listed = page.locator(f".row[data-review='{asked['path'].rsplit('/', 1)[1]}']")
    expect(listed).to_contain_text(payload)  # arrives through the socket's news
    watched.assert_inert()

    watched.go(asked["path"])
    proposal = page.locator("#proposal")
    expect(proposal.locator("[data-shape=inline]")).to_contain_text(payload)
    expect(proposal.locator("h1")).to_contain_text(payload)
    expect(proposal.locator(".chain")).to_contain_text(payload)
    expect(proposal.locator(".facts").first).to_contain_text(payload)

    expect_live(page)
    page.keyboard.press("r")
    page.get_by_label("Or in your own words").fill(payload)
    page.keyboard.press("Enter")
    expect(page.locator("#toast")).to_contain_text(payload)
    watched.assert_inert()
    watched.go(asked["path"])
    expect(page.locator("#open-state")).to_contain_text(payload)

    body = {"agent_id": payload, "ids": [known["id"]], "reason": payload}
    with server.client() as client:
        answer = client.post("/v0/forget", json={**body, "approval_required": True})
    watched.go(answer.json()["approval_url"].removeprefix(server.address))
    expect(page.locator(".lines")).to_contain_text(payload)
    expect(page.locator(".quote")).to_contain_text(payload)

    watched.go("/audit")
    page.get_by_role("row").filter(has_text=asked["id"]).last.locator(".log__toggle").click()
    words = json.dumps(payload, ensure_ascii=False)[1:-1]
    expect(page.locator(".detail .code").first).to_contain_text(words)
    watched.assert_inert()
    assert all(set(json.loads(frame)) == {"cursor"} for frame in watched.received)
