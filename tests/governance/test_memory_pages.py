"""Memories in the browser: searched, paged both ways, and each with its history and its reasons."""

import re
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import Client

from governance import decision, outbox, stores_runtime
from governance.models import Delivery, Memory, Review, Verdict
from tests.governance.test_query_counts import Counted, counted
from tests.permissions import EVERYBODY, as_whom, browser
from tests.world import World

__all__ = ["counted"]


@pytest.fixture
def reader(world: World) -> Client:
    return browser(world.reviewer)


def found(client: Client, **asked: str) -> list[str]:
    """The ids listed, in their order."""
    page = client.get("/memories", asked).content.decode()
    return re.findall(r'href="/memories/([^"?]+)"', page)


def page_of(client: Client, memory_id: str) -> str:
    answer = client.get(f"/memories/{memory_id}")
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize(
    ("path", "statuses"),
    [
        ("/memories", [302, 403, 200, 200, 200, 200]),
        ("/memories/{memory}", [302, 403, 200, 200, 200, 404]),
        ("/memories/missing", [302, 403, 404, 404, 404, 404]),
    ],
)
def test_who_may(world: World, path: str, statuses: list[int], who: str) -> None:
    address = path.format(memory=world.remembered("Alice likes tea"))
    assert as_whom(world, who).get(address).status_code == statuses[EVERYBODY.index(who)]


def test_the_search_is_by_agent_user_type_and_words(world: World, reader: Client) -> None:
    tea = world.remembered("Alice likes green tea", user_id="alice")
    rain = world.remembered("It rained", type="episodic", agent_id="mail")
    assert found(reader) == [rain, tea]
    assert found(reader, agent="mail") == [rain]
    assert found(reader, user="alice") == [tea]
    assert found(reader, type="episodic") == [rain]
    assert found(reader, words="TEA alice") == [tea]
    assert found(reader, words="tea rained") == []


def test_the_search_is_by_what_became_of_a_memory(world: World, reader: Client) -> None:
    live, gone, erased = (world.remembered(text) for text in ("live", "gone", "erased"))
    world.forget(ids=[gone])
    world.forget(ids=[erased], hard_delete=True)
    waiting = world.remember("waiting", approval_required=True).json()["id"]
    past = world.remembered("past", expires_at=4_000_000_000_000)
    Memory.objects.filter(pk=past).update(expires_at=1_000_000_000_000)
    for state, memory_id in {
        "live": live,
        "waiting": waiting,
        "forgotten": gone,
        "erased": erased,
        "expired": past,
    }.items():
        assert found(reader, state=state) == [memory_id], state
    assert found(reader, state="merged") == []


def test_another_workspaces_memories_are_not_found(world: World) -> None:
    mine = world.remembered("ours")
    stranger = browser(World.create("other").reviewer)
    assert found(stranger) == []
    assert stranger.get(f"/memories/{mine}").status_code == 404


def test_pages_go_both_ways_and_meet_every_memory_once(
    fast_world: World,
) -> None:
    client = browser(fast_world.reviewer)
    for number in range(70):
        fast_world.remembered(f"number {number}")
    Memory.objects.update(created_at=1_700_000_000_000)  # ties are broken by id
    pages, address = [], "/memories?words=number"
    links: list[str] = []
    while address:
        links.append(address)
        page = client.get(address).content.decode()
        pages.append(re.findall(r'href="/memories/([^"?]+)"', page))
        older = re.search(r'rel="next" href="(\?[^"]+)"', page)
        address = f"/memories{older[1].replace('&amp;', '&')}" if older else ""
    everything = [memory_id for page in pages for memory_id in page]
    assert len(everything) == len(set(everything)) == 70
    last = client.get(links[-1]).content.decode()
    newer = re.search(r'rel="prev" href="(\?[^"]+)"', last)
    assert newer
    back = client.get(f"/memories{newer[1].replace('&amp;', '&')}").content.decode()
    assert re.findall(r'href="/memories/([^"?]+)"', back) == pages[1]


@pytest.mark.parametrize("cursor", ["x", "WzEsMl0:x:y"])
def test_an_altered_cursor_is_refused(world: World, reader: Client, cursor: str) -> None:
    assert reader.get("/memories", {"cursor": cursor}).status_code == 400


def test_a_memorys_page_tells_its_history_who_and_why(world: World, reader: Client) -> None:
    world.remember("Alice likes tea", approval_required=True, confidence=0.6)
    review = Review.objects.select_related("operation").get()
    ballot = decision.Ballot(
        user=world.reviewer,
        review_id=review.pk,
        verdict=Verdict.APPROVE,
        shown=world.shown(review),
        reason="she said so",
    )
    async_to_sync(decision.decide)(ballot)
    stores_runtime.wait(outbox.flush())  # the store's row is written a moment later
    memory_id = Memory.objects.get().pk
    page = page_of(reader, memory_id)
    assert "Recalled by agents" in page
    assert "Proposed, staged" in page
    assert "Approved" in page
    assert "she said so" in page
    assert f'href="/proposals/{review.pk}"' in page
    assert f'href="/audit?memory={memory_id}"' in page
    assert "In step" in page


def test_a_merge_is_shown_word_by_word_and_leads_to_the_survivor(
    world: World, reader: Client
) -> None:
    kept, gone = world.remembered("Alice likes tea"), world.remembered("Alice likes coffee")
    body = {"agent_id": "concierge", "canonical": kept, "duplicates": [gone]}
    answer = world.post("/v0/merge", {**body, "strategy": "merge_content"})
    assert answer.status_code == 200, answer.content
    page = page_of(reader, kept)
    assert "added: </span>" in page
    assert "Merged" in page
    assert f'href="/memories/{kept}"' in page_of(reader, gone)


def test_a_store_that_lags_is_said_to(world: World, reader: Client) -> None:
    memory_id = world.remembered("Alice likes tea")
    stores_runtime.wait(outbox.flush())
    Delivery.objects.update(delivered_version=0, last_error="StoreUnavailable")
    page = page_of(reader, memory_id)
    assert "1 version behind" in page
    assert "StoreUnavailable" in page


def test_an_erased_memory_keeps_its_page_and_not_its_words(world: World, reader: Client) -> None:
    memory_id = world.remembered("a secret word", metadata={"entity": "a secret word"})
    world.forget(ids=[memory_id], hard_delete=True)
    page = page_of(reader, memory_id)
    assert "a secret word" not in page
    assert "The words were erased" in page


def test_what_agents_say_is_text(world: World, reader: Client) -> None:
    nasty: dict[str, Any] = {"source": "<img src=x>", "metadata": {"<b>": "\u202ex"}}
    memory_id = world.remembered("<script>alert(1)</script>\u200b", agent_id="<i>", **nasty)
    for page in (reader.get("/memories").content.decode(), page_of(reader, memory_id)):
        assert not re.search(r"<(img|b|i)>|<script>", page)
        assert "ZWSP" in page
    assert "RLO" in page_of(reader, memory_id)


def test_an_imported_id_of_any_shape_has_a_page(world: World, reader: Client) -> None:
    world.remembered("x", id="a/b?c#d é")
    (address,) = found(reader)
    assert "x" in page_of(reader, address)


@pytest.mark.parametrize("memories", [1, 25])
def test_the_list_costs_the_same_however_long_it_is(
    world: World, reader: Client, counted: Counted, memories: int
) -> None:
    for number in range(memories):
        world.remembered(f"Alice likes tea number {number}")
    assert counted(lambda: reader.get("/memories?words=tea")) == 5


def test_what_a_memorys_page_costs(world: World, reader: Client, counted: Counted) -> None:
    memory_id = world.remembered("Alice likes tea")
    assert counted(lambda: reader.get(f"/memories/{memory_id}")) == 9
