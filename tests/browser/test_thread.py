"""One memory from agent to reviewer to recall to audit, through a real browser."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from benchmarks.local_server import LocalServer
from tests.browser.conftest import OpenPage, Propose, expect_live

pytestmark = pytest.mark.browser


def recalled(server: LocalServer, query: str) -> list[str]:
    with server.client() as client:
        answer = client.post("/v0/recall", json={"agent_id": "concierge-7", "query": query})
    return [hit["content"] for hit in answer.json()["results"]]


def row(page: Page, text: str) -> Any:
    return page.locator(".row", has_text=text)


def test_a_proposal_appears_live_is_read_approved_by_keyboard_recalled_and_in_the_audit_log(
    server: LocalServer, open_page: OpenPage, propose: Propose
) -> None:
    allergy = {"metadata": {"entity": "alice.moreau", "attribute": "allergy"}}
    propose("Alice is allergic to tree nuts.", approval_required=False, **allergy)
    page = open_page()
    expect_live(page)

    asked = propose("Alice is allergic to peanuts.", confidence=0.9, **allergy)

    expect(row(page, "peanuts")).to_be_visible(timeout=4_000)  # without a reload
    expect(page).to_have_title(re.compile(r"^\d+ waiting"))
    row(page, "peanuts").click()
    page.wait_for_url(f"**{asked['path']}")
    heading = page.get_by_role("heading", name="Remember a fact about alice.moreau, allergy")
    expect(heading).to_be_focused()
    diff = page.locator("[data-shape=inline]")
    expect(diff.locator("del")).to_contain_text("tree nuts")
    expect(diff.locator("ins")).to_contain_text("peanuts")
    assert "Alice is allergic to peanuts." not in recalled(server, "allergy")

    page.wait_for_timeout(400)  # keys rest while a proposal is new
    page.keyboard.press("a")

    expect(page.locator("#toast")).to_contain_text("Approved “Remember: alice.moreau, allergy”")
    expect(row(page, "peanuts")).to_have_count(0)
    found = recalled(server, "allergy")
    assert "Alice is allergic to peanuts." in found
    assert "Alice is allergic to tree nuts." not in found

    page.get_by_role("link", name="Audit").first.click()
    rows = page.get_by_role("row").filter(has_text=asked["id"])
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("Approved")
    expect(rows.first).to_contain_text("Admin")
    rows.nth(1).locator(".log__toggle").click()
    expect(page.locator(".detail")).to_contain_text("Alice is allergic to peanuts.")
    assert "All is well" in server.manage("audit", "verify")


def test_rejecting_asks_for_a_reason_and_the_agent_hears_it(
    server: LocalServer, open_page: OpenPage, propose: Propose
) -> None:
    asked = propose("The kitchen closes at noon.")
    page = open_page(asked["path"])
    expect_live(page)
    page.keyboard.press("r")
    expect(page.get_by_role("heading", name="Reject because")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#reject-panel")).to_be_hidden()
    page.keyboard.press("r")
    page.keyboard.press("2")
    expect(page.locator("#toast")).to_contain_text("Rejected")
    page.goto(asked["path"])
    expect(page.locator("#open-state")).to_contain_text("Admin rejected this")
    expect(page.locator("#open-state")).to_contain_text("Source not trusted")
    expect(page.get_by_role("group", name="Decide")).to_have_count(0)
    assert "The kitchen closes at noon." not in recalled(server, "kitchen")


def test_the_queue_is_walked_by_keyboard_and_keys_can_be_switched_off(
    open_page: OpenPage, propose: Propose
) -> None:
    propose("First of two to walk through.")
    propose("Second of two to walk through.")
    page = open_page()
    expect_live(page)
    current = page.locator(".row[aria-current=true]")
    first = current.get_attribute("data-review")
    page.keyboard.press("j")
    expect(current).not_to_have_attribute("data-review", first or "")
    page.keyboard.press("k")
    expect(current).to_have_attribute("data-review", first or "")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    page.keyboard.press("r")  # nothing is decided behind a dialog
    page.keyboard.press("Escape")
    expect(page.locator("#reject-panel")).to_be_hidden()

    page.locator(".menu--user summary").click()
    page.get_by_label("Decide and move by single keys").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    expect(page.locator("#reject-panel")).to_be_hidden()


def test_what_changes_elsewhere_leaves_focus_scroll_and_drafts_alone(
    open_page: OpenPage, propose: Propose
) -> None:
    mine = propose("The one with a draft.")
    page = open_page(mine["path"])
    expect_live(page)
    page.keyboard.press("r")
    draft = page.get_by_label("Or in your own words")
    draft.fill("half a thou")
    propose("Something that arrives meanwhile.")
    expect(row(page, "arrives meanwhile")).to_be_visible(timeout=4_000)
    expect(draft).to_be_focused()
    page.keyboard.type("ght")
    expect(draft).to_have_value("half a thought")


def test_a_proposal_decided_elsewhere_says_who_and_takes_the_buttons_away(
    open_page: OpenPage, propose: Propose, second_person: dict[str, str]
) -> None:
    asked = propose("Two people look at this.")
    mine = open_page(asked["path"])
    expect_live(mine)
    theirs = open_page(asked["path"], **second_person)
    expect_live(theirs)
    theirs.keyboard.press("a")
    expect(theirs.locator("#toast")).to_contain_text("Approved")
    expect(mine.locator("#open-state")).to_contain_text("Mei Tanaka approved this", timeout=4_000)
    expect(mine.get_by_role("group", name="Decide")).to_have_count(0)
    expect(row(mine, "Two people look at this.")).to_have_count(0)


def test_a_decision_that_comes_too_late_shows_what_happened(
    open_page: OpenPage, propose: Propose, second_person: dict[str, str]
) -> None:
    asked = propose("Both press at once.")
    mine = open_page(asked["path"])
    expect_live(mine)
    mine.route("**/queue/changes*", lambda route: route.fulfill(status=204))  # hears nothing more
    theirs = open_page(asked["path"], **second_person)
    expect_live(theirs)
    theirs.keyboard.press("a")
    expect(theirs.locator("#toast")).to_contain_text("Approved")
    mine.keyboard.press("a")
    expect(mine.get_by_role("alert")).to_contain_text("already decided")
    expect(mine.locator("#open-state")).to_contain_text("Mei Tanaka approved this")


def test_offline_is_said_decisions_rest_and_the_list_catches_up(
    server: LocalServer, open_page: OpenPage, propose: Propose
) -> None:
    asked = propose("Waits through an outage.")
    page = open_page(asked["path"])
    expect_live(page)
    page.context.set_offline(True)
    expect(page.locator("#offline-note")).to_be_visible(timeout=15_000)
    page.keyboard.press("a")
    propose("Made during the outage.")
    page.context.set_offline(False)
    expect_live(page)
    expect(row(page, "during the outage")).to_be_visible(timeout=8_000)
    expect(row(page, "through an outage")).to_be_visible()  # the key decided nothing


def test_everything_works_without_scripts(
    server: LocalServer, open_page: OpenPage, propose: Propose
) -> None:
    asked = propose("Decided without a script.")
    page = open_page(asked["path"], java_script_enabled=False)
    page.get_by_role("link", name="Reject").click()
    page.get_by_label("Or in your own words").fill("not needed")
    page.keyboard.press("Enter")  # not the first quick reason
    expect(page.locator("#toast")).to_contain_text("Rejected")
    page.goto(asked["path"])
    expect(page.locator("#open-state")).to_contain_text("“not needed”")


def test_the_reviewer_switches_from_replacing_to_adding_and_the_button_says_so(
    server: LocalServer, open_page: OpenPage, propose: Propose
) -> None:
    drink = {"metadata": {"entity": "bob", "attribute": "drink"}}
    propose("Bob drinks tea.", approval_required=False, **drink)
    asked = propose("Bob drinks coffee.", **drink)
    page = open_page(asked["path"])
    expect_live(page)
    approve = page.locator(".bar [data-act=approve]")
    expect(approve).to_have_text(
        re.compile(r"^\s*Approve and replace\s+a\s*$"), use_inner_text=True
    )
    page.get_by_role("radio", name="Adds beside it").check()
    expect(approve).to_have_text(re.compile(r"^\s*Approve and add\s+a\s*$"), use_inner_text=True)
    page.wait_for_timeout(400)
    page.keyboard.press("a")  # with the focus still on the choice
    expect(page.locator("#toast")).to_contain_text("Approved")
    assert {"Bob drinks tea.", "Bob drinks coffee."} <= set(recalled(server, "what does Bob drink"))


def test_a_merge_shows_what_stays_and_what_goes(
    server: LocalServer, open_page: OpenPage, propose: Propose
) -> None:
    kept, gone = (
        propose(text, approval_required=False)["id"] for text in ("Eve sits left.", "Eve sits up.")
    )
    body = {
        "agent_id": "concierge-7",
        "canonical": kept,
        "duplicates": [gone],
        "strategy": "merge_content",
        "approval_required": True,
    }
    with server.client() as client:
        url = client.post("/v0/merge", json=body).json()["approval_url"]
    page = open_page(url.removeprefix(server.address))
    expect_live(page)
    expect(page.get_by_role("heading", name="Merge 2 memories into one")).to_be_visible()
    expect(page.locator("[data-shape=inline] ins")).to_contain_text("Eve sits up.")
    expect(page.locator(".lines del")).to_contain_text("Eve sits up.")
    page.wait_for_timeout(400)
    page.keyboard.press("a")
    expect(page.locator("#toast")).to_contain_text("Approved")
    assert recalled(server, "where does Eve sit")[0] == "Eve sits left.\nEve sits up."


def test_a_text_is_edited_and_approved_by_keyboard(
    server: LocalServer, open_page: OpenPage, propose: Propose
) -> None:
    asked = propose("Dara sails on Sundys.")
    page = open_page(asked["path"])
    expect_live(page)
    page.wait_for_timeout(400)
    page.keyboard.press("e")
    field = page.get_by_label("What to remember")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    page.keyboard.press("e")
    field.fill("Dara sails on Sundays.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#toast")).to_contain_text("Approved")
    assert recalled(server, "when does Dara sail")[0] == "Dara sails on Sundays."
