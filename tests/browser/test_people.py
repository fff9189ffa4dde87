"""People in a real browser: invited, let in, deciding, with a second factor; and Django's admin."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from benchmarks.local_server import LocalServer
from tests.browser.chromium import code_now, log_in
from tests.browser.conftest import OpenPage, Propose

pytestmark = pytest.mark.browser

EMAIL, PASSWORD = "noor@example.com", "a new and longer phrase"


def press_on(page: Page, role: str, name: str) -> None:
    """Go to a control and press it, by keyboard."""
    page.get_by_role(role, name=name).first.focus()  # type: ignore[arg-type]
    page.keyboard.press("Enter")


def test_an_invited_person_comes_in_decides_and_turns_on_the_app(
    server: LocalServer, browser: Browser, open_page: OpenPage, propose: Propose
) -> None:
    """By keyboard from the invitation to the log-in that asks for a code."""
    admin = open_page("/members")
    press_on(admin, "link", "Invite…")
    expect(admin.get_by_label("E-mail")).to_be_focused()
    admin.keyboard.type(EMAIL)
    admin.keyboard.press("Enter")
    link = admin.get_by_label("Link").input_value()

    context = browser.new_context(base_url=server.address, reduced_motion="reduce")
    theirs = context.new_page()
    broken: list[str] = []
    theirs.on("console", lambda line: broken.append(line.text) if line.type == "error" else None)
    theirs.goto(link)
    expect(theirs.get_by_label("Your name")).to_be_focused()
    theirs.keyboard.type("Noor")
    theirs.keyboard.press("Tab")
    theirs.keyboard.type(PASSWORD)
    theirs.keyboard.press("Enter")
    theirs.wait_for_url("**/queue")

    theirs.goto(propose("Noor likes mint tea.")["path"])
    theirs.wait_for_timeout(400)  # keys rest while a proposal is new
    theirs.keyboard.press("a")
    expect(theirs.locator("#toast")).to_contain_text("Approved")

    theirs.goto("/account")
    press_on(theirs, "link", "Turn it on")
    expect(theirs.get_by_label("Password")).to_be_focused()
    theirs.keyboard.type(PASSWORD)
    theirs.keyboard.press("Enter")
    secret = theirs.locator("#secret").input_value()
    expect(theirs.get_by_label("Code from the app")).to_be_focused()
    theirs.keyboard.type(code_now(secret))
    theirs.keyboard.press("Enter")
    codes = theirs.get_by_label("Codes").inner_text().split()
    assert len(codes) == 10
    assert broken == []
    context.close()

    again = browser.new_context(base_url=server.address).new_page()
    again.goto("/queue")
    log_in(again, EMAIL, PASSWORD)
    expect(again.get_by_role("textbox", name="Code")).to_be_focused()
    again.keyboard.type(codes[0])
    again.keyboard.press("Enter")
    again.wait_for_url(re.compile("/queue$"))
    again.context.close()


def test_djangos_admin_runs_under_our_content_security_policy(open_page: OpenPage) -> None:
    page = open_page("/settings")
    page.goto("/admin/")
    expect(page.get_by_role("heading", name="What there is, to look at")).to_be_visible()
    page.get_by_role("link", name="Users", exact=True).first.click()
    expect(page.get_by_role("link", name="admin@localhost")).to_be_visible()
