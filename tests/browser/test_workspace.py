"""Rules, keys, members, memories and the log in a real browser."""

import json
import re

import httpx
import pytest
from playwright.sync_api import expect

from benchmarks.local_server import LocalServer
from tests.browser.conftest import OpenPage, Propose
from tests.browser.screens import NARROW, WIDTHS, dress

pytestmark = pytest.mark.browser


def remember(server: LocalServer, content: str, **extra: object) -> httpx.Response:
    body = {"agent_id": "concierge-7", "type": "semantic", "content": content, **extra}
    with server.client() as client:
        return client.post("/v0/remember", json=body)


def test_a_rule_made_by_keyboard_holds_the_next_write(
    server: LocalServer, open_page: OpenPage
) -> None:
    page = open_page("/rules")
    page.get_by_role("link", name="New rule").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type("gossip needs a person")
    page.get_by_label("Source").focus()
    page.keyboard.type("gossip")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("gossip needs a person is in force")
    assert remember(server, "They say so.", source="gossip").status_code == 202

    page.get_by_role("button", name="Switch off gossip needs a person").press("Enter")
    expect(page.get_by_role("status")).to_contain_text("switched off at version 2")
    assert remember(server, "They say more.", source="gossip").status_code == 200


def test_a_key_is_made_rotated_and_revoked_without_scripts(
    server: LocalServer, open_page: OpenPage
) -> None:
    page = open_page("/keys/new", java_script_enabled=False)
    page.get_by_label("Note").fill("made here")
    page.get_by_label("Every agent of the workspace").check()
    page.get_by_role("button", name="Make the key").click()
    token = page.get_by_label("Key", exact=True).input_value()
    headers = {"Authorization": f"Bearer {token}"}
    asked = {"agent_id": "concierge-7", "query": "anything"}
    recall = f"{server.address}/v0/recall"
    assert httpx.post(recall, json=asked, headers=headers).status_code == 200

    page.get_by_role("link", name="I have it").click()
    item = page.locator(".item", has_text=token.rsplit("_", 1)[0]).first
    item.get_by_text("Rotate…").click()
    item.get_by_role("button", name="Rotate", exact=True).click()
    expect(page.get_by_label("Key", exact=True)).to_have_value(re.compile("^mw_"))

    page.goto("/keys")
    item = page.locator(".item", has_text="Rotated, still valid").first
    item.get_by_text("Revoke…").click()
    item.get_by_role("button", name="Revoke mw_").click()
    assert httpx.post(recall, json=asked, headers=headers).status_code == 401


def test_a_person_who_loses_their_role_is_told_so_by_the_open_page(
    open_page: OpenPage, second_person: dict[str, str]
) -> None:
    theirs = open_page("/queue", **second_person)
    page = open_page("/members")
    item = page.locator(".item", has_text=second_person["email"])
    reviewer = item.get_by_role("checkbox", name="Reviewer")
    reviewer.uncheck()
    item.get_by_role("button", name="Save roles").click()
    expect(page.locator(".item", has_text="no role: sees nothing")).to_have_count(1)
    expect(theirs.locator("#offline-note")).to_be_visible(timeout=8_000)

    reviewer.check()
    item.get_by_role("button", name="Save roles").click()
    expect(page.get_by_role("status")).to_contain_text("Saved")


def test_a_memory_is_found_by_its_words_followed_and_exported(
    server: LocalServer, open_page: OpenPage
) -> None:
    memory_id = remember(server, "The lighthouse at Skagen is white.").json()["id"]
    page = open_page("/memories")
    page.get_by_label("Words").fill("skagen LIGHTHOUSE")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="The lighthouse at Skagen is white.").click()
    expect(page.locator(".value")).to_contain_text("The lighthouse at Skagen is white.")
    page.get_by_role("link", name="Follow in audit").click()
    expect(page.locator(".log__row")).to_have_count(1)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export JSONL").click()
    (line,) = download.value.path().read_text().splitlines()
    row = json.loads(line)
    assert (row["memory_id"], row["action"]) == (memory_id, "memory.remembered")


def test_no_page_scrolls_sideways_whatever_agents_and_admins_type(
    server: LocalServer, open_page: OpenPage, propose: Propose
) -> None:
    long = "Long" * 60
    asked = propose(long * 3, source=long, user_id=long, metadata={long: long})
    server.manage("rule", "add", long[:140], "--effect", "review", "--source", long)
    server.manage("apikey", "create", "--agents", long, "--scopes", "recall", "--name", "y" * 150)
    page = open_page("/rules")
    paths = ["/rules", "/rules/1", "/keys", f"/memories/{asked['id']}", f"/audit?agent={long}"]
    for path in paths:
        page.goto(path)
        for width in WIDTHS:
            dress(page, width=width, scheme="light")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        for summary in page.locator(".disclose > summary").all():
            summary.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW, path
