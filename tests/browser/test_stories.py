"""From an agent's wish to its outcome, by keyboard only; and what happens when people collide."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from benchmarks.local_server import LocalServer
from tests.browser.conftest import OpenPage, expect_live
from tests.browser.stage import Stage, admin_of

pytestmark = pytest.mark.browser

_REST_MS = 400
"""Keys rest this long while a proposal is new, so that nobody decides what they have not read."""


class Agent(Stage):
    """An agent at work: asks, waits for the outcome, recalls."""

    def outcome(self, asked: dict[str, Any]) -> tuple[str, str]:
        """Status and reason of what was asked, waited for as an agent does."""
        with self.server.client() as client:
            answer = client.get(f"/v0/operations/{asked['operation']}?wait=10").json()
        return answer["status"], answer["decision"]["reason"]

    def recalled(self, query: str) -> list[str]:
        hits = self.ask("recall", query=query)["results"]
        return [hit["content"] for hit in hits]


@pytest.fixture
def agent(server: LocalServer) -> Agent:
    return Agent(server=server, people={"admin": admin_of(server)})


def walk_to(page: Page, review_id: str) -> None:
    """By ``j`` and ``k`` until the proposal is open."""
    proposal = page.locator("#proposal[data-review]")
    expect(proposal).to_be_visible()
    rows = page.locator(".row")
    ids = rows.evaluate_all("rows => rows.map((row) => row.dataset.review)")
    here = ids.index(proposal.get_attribute("data-review"))
    there = ids.index(review_id)
    for at in range(here, there, 1 if there > here else -1):
        page.keyboard.press("j" if there > here else "k")
        step = 1 if there > here else -1
        expect(proposal).to_have_attribute("data-review", ids[at + step])
    page.wait_for_timeout(_REST_MS)


def tab_to(page: Page, field: Locator) -> None:
    for _ in range(10):
        if field.evaluate("field => field === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError("Tab does not lead there")


def toast(page: Page) -> Locator:
    return page.locator("#toast")


def arrives(page: Page, asked: dict[str, Any]) -> None:
    """The proposal is listed without a reload, and opened."""
    listed = page.locator(f".row[data-review='{asked['review']}']")
    expect(listed).to_be_visible(timeout=4_000)
    walk_to(page, asked["review"])


def test_remember(agent: Agent, open_page: OpenPage) -> None:
    page = open_page()
    expect_live(page)
    asked = agent.ask(
        "remember", type="semantic", content="Gate 12 opens at six.", approval_required=True
    )
    arrives(page, asked)
    assert agent.recalled("when does gate 12 open")[:1] != ["Gate 12 opens at six."]
    page.keyboard.press("a")
    expect(toast(page)).to_contain_text("Approved")
    assert agent.outcome(asked)[0] == "applied"
    assert agent.recalled("when does gate 12 open")[0] == "Gate 12 opens at six."


def test_forget(agent: Agent, open_page: OpenPage) -> None:
    texts = ["Carla drinks cocoa.", "Carla drinks chai."]
    ids = [agent.remembered(text) for text in texts]
    page = open_page()
    expect_live(page)
    asked = agent.ask("forget", ids=ids, reason="She left.", approval_required=True)
    arrives(page, asked)
    for text, memory_id in zip(texts, ids, strict=True):
        line = page.locator(".lines li", has_text=memory_id)
        expect(line.locator("del")).to_contain_text(text)
    assert set(texts) <= set(agent.recalled("what does Carla drink"))
    page.keyboard.press("a")
    expect(toast(page)).to_contain_text("Approved")
    assert agent.outcome(asked)[0] == "applied"
    assert not set(texts) & set(agent.recalled("what does Carla drink"))


def test_a_rejected_forget_takes_nothing_and_says_why(agent: Agent, open_page: OpenPage) -> None:
    memory_id = agent.remembered("Emil swims at dawn.")
    page = open_page()
    expect_live(page)
    asked = agent.ask("forget", ids=[memory_id], approval_required=True)
    arrives(page, asked)
    page.keyboard.press("r")
    page.keyboard.press("1")
    expect(toast(page)).to_contain_text("Rejected")
    assert agent.outcome(asked) == ("rejected", "Not true")
    assert "Emil swims at dawn." in agent.recalled("when does Emil swim")


def test_merge(agent: Agent, open_page: OpenPage) -> None:
    kept, gone = (agent.remembered(text) for text in ("Finn cycles.", "Finn cycles to work."))
    page = open_page()
    expect_live(page)
    asked = agent.ask(
        "merge",
        canonical=kept,
        duplicates=[gone],
        strategy="keep_canonical",
        approval_required=True,
    )
    arrives(page, asked)
    expect(page.locator(".lines del")).to_contain_text("Finn cycles to work.")
    page.keyboard.press("a")
    expect(toast(page)).to_contain_text("Approved")
    assert agent.outcome(asked)[0] == "applied"
    found = agent.recalled("does Finn cycle")
    assert "Finn cycles." in found
    assert "Finn cycles to work." not in found


def test_an_edit_overtaken_is_refused_shown_anew_and_then_decided(
    agent: Agent, open_page: OpenPage
) -> None:
    seat = {"entity": "greta", "attribute": "seat"}
    agent.remembered("Greta sits at the front.", metadata=seat)
    body = {"type": "semantic", "metadata": seat, "approval_required": True}
    asked = agent.ask("remember", content="Greta sits in the bakc.", **body)
    page = open_page(f"/proposals/{asked['review']}")
    expect_live(page)
    page.keyboard.press("e")
    for _ in "bakc.":
        page.keyboard.press("Backspace")
    page.keyboard.type("back.")
    agent.remembered("Greta sits by the door.", metadata=seat)  # what was shown is no longer so
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.get_by_role("alert")).to_contain_text("no longer what was shown")
    expect(page.locator("[data-shape=inline] del", has_text="door")).to_be_visible()
    field = page.get_by_label("What to remember")
    expect(field).to_have_value("Greta sits in the back.")
    assert not {"Greta sits in the back.", "Greta sits in the bakc."} & set(
        agent.recalled("where does Greta sit")
    )
    page.wait_for_timeout(_REST_MS)
    page.keyboard.press("a")  # with what had been typed
    expect(toast(page)).to_contain_text("Approved")
    assert agent.outcome(asked)[0] == "applied"
    found = [text for text in agent.recalled("where does Greta sit") if "Greta" in text]
    assert found == ["Greta sits in the back."]


def both_look(
    agent: Agent, content: str, open_page: OpenPage, second_person: dict[str, str]
) -> tuple[dict[str, Any], Page, Page]:
    """A proposal, and the two browsers that have it open."""
    asked = agent.ask("remember", type="semantic", content=content, approval_required=True)
    path = f"/proposals/{asked['review']}"
    pages = open_page(path), open_page(path, **second_person)
    for page in pages:
        expect_live(page)
    return asked, *pages


def test_of_two_at_once_one_wins_and_the_other_learns_who(
    agent: Agent, open_page: OpenPage, second_person: dict[str, str]
) -> None:
    asked, mine, theirs = both_look(agent, "Raced for.", open_page, second_person)
    for page in (mine, theirs):
        page.keyboard.press("r")
        tab_to(page, page.get_by_label("Or in your own words"))
        page.keyboard.type(f"typed by {'me' if page is mine else 'them'}")
    mine.keyboard.press("Enter")
    theirs.keyboard.press("Enter")

    for page in (mine, theirs):
        expect(page.locator(".toast, #kept")).to_be_visible()
    said = [page.locator("#toast", has_text="Rejected").count() for page in (mine, theirs)]
    assert sorted(said) == [0, 1]
    loser, winner, lost, kept = (
        (mine, "Mei Tanaka", "typed by me", "typed by them")
        if said == [0, 1]
        else (theirs, "Admin", "typed by them", "typed by me")
    )
    expect(loser.locator("#open-state")).to_contain_text(f"{winner} rejected this")
    expect(loser.locator("#open-state time")).to_be_visible()
    expect(loser.get_by_label("You had typed this")).to_have_value(lost)
    assert agent.outcome(asked) == ("rejected", kept)


def test_what_is_being_typed_stays_when_somebody_else_decides(
    agent: Agent, open_page: OpenPage, second_person: dict[str, str]
) -> None:
    _, mine, theirs = both_look(agent, "Typed over.", open_page, second_person)
    mine.keyboard.press("e")
    mine.keyboard.type(" And more")
    theirs.keyboard.press("a")
    expect(mine.locator("#open-state")).to_contain_text("Mei Tanaka approved this", timeout=4_000)
    kept = mine.get_by_label("You had typed this")
    expect(kept).to_have_value("Typed over. And more")
    expect(kept).to_be_focused()
    expect(mine.get_by_role("group", name="Decide")).to_have_count(0)


def test_the_help_names_every_key_and_nothing_else(open_page: OpenPage) -> None:
    page = open_page()
    script = page.request.get("/static/memorywire/queue.js").text()
    bound = script.split("const keys = {", 1)[1].split("}", 1)[0]
    keys = {part.split(":")[0].strip() for part in bound.split(",")}
    page.keyboard.press("?")
    named = page.locator("#keys dl kbd").all_inner_texts()
    assert set(named) == keys | {"?", "Esc", "1", "5"}
