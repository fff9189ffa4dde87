"""What a reviewer with a long queue leans on: its order, why each waits, nothing typed is lost."""

import html

import pytest

from governance.models import Review, Risk, Role, Rule
from governance.web.presenters import queue as presenter
from tests.governance.test_pages import HTMX, decide, logged_in, shown_on, staged
from tests.permissions import browser
from tests.world import World, add_person

HEADERS = pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])


def queued(world: World) -> list[str]:
    """The reviews in the order the queue's page lists them."""
    page = browser(world.reviewer).get("/queue").context["queue"]
    return [row.review_id for row in page.rows]


def test_the_most_risk_comes_first_even_beyond_what_is_listed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presenter, "_LISTED_MAX", 3)
    plain = [staged(world, f"plain {number}").pk for number in range(3)]
    world.rule("review", source="web")
    by_rule = staged(world, "from outside", source="web").pk
    hidden = staged(world, "a\u200bb").pk
    memory_id = world.remembered("gone soon")
    erasing = world.forget(ids=[memory_id], hard_delete=True, approval_required=True).json()
    assert queued(world) == [hidden, erasing["approval_url"].rsplit("/", 1)[1], by_rule]
    page = browser(world.reviewer).get("/queue").content.decode()
    assert "3 more wait" in page
    assert plain[0] not in page


def test_what_was_staged_before_risks_were_kept_counts_as_the_riskiest() -> None:
    assert Review().risk == Risk.HIGH


@pytest.mark.parametrize(("role", "linked"), [(Role.REVIEWER, False), (Role.ADMIN, True)])
def test_a_proposal_names_the_rule_that_stopped_it_as_it_was(
    world: World, role: Role, linked: bool
) -> None:
    admin = browser(add_person(world.workspace, Role.ADMIN))
    admin.post("/rules/new", {"name": "from <outside>", "effect": "review", "source": "web"})
    review = staged(world, "Alice likes tea", source="web")
    address = f"/rules/{Rule.objects.get().pk}"
    admin.post(address, {"effect": "review", "source": "mail", "seen": "1"})

    page = browser(add_person(world.workspace, role)).get(f"/proposals/{review.pk}")
    text = page.content.decode()
    assert "from &lt;outside&gt;</bdi>, version 1" in text
    assert "Any write of any memory from the source “web” needs a person." in text
    assert (f'href="{address}#version-1"' in text) is linked
    assert 'id="version-1"' in admin.get(address).content.decode()


@HEADERS
def test_whoever_is_too_late_is_shown_what_they_had_typed(
    world: World, headers: dict[str, str]
) -> None:
    review = staged(world, "Alice likes tea")
    client = logged_in(world.reviewer)
    shown = shown_on(client, review)
    decide(logged_in(add_person(world.workspace, Role.ADMIN)), review, "approve", shown)

    form = {"reason": "she <said> so", "content": "Alice likes\r\n\r\ngreen tea"}
    answer = decide(client, review, "approve", shown, form=form, headers=headers)
    assert answer.status_code == 409
    text = html.unescape(answer.content.decode())
    assert "nothing of it was sent" in text
    assert "Alice likes\n\ngreen tea\n\nshe <said> so</textarea>" in text
    assert 'value="approve"' not in text


@HEADERS
def test_a_stale_edit_is_still_in_its_field(world: World, headers: dict[str, str]) -> None:
    review = staged(world, "Alice likes tea")
    client = logged_in(world.reviewer)
    form = {"content": "Alice likes green tea"}
    answer = decide(client, review, "approve", "stale", form=form, headers=headers)
    text = answer.content.decode()
    assert "Alice likes green tea</textarea>" in text
    assert '<div class="field" data-edit>' in text  # the field is open


@HEADERS
@pytest.mark.parametrize(
    ("verdict", "form", "says"),
    [
        ("reject", {"reason": "x" * 4_001}, "longer than 4000"),
        ("approve", {"content": " ", "reason": "it is <fine>"}, "The text"),
    ],
)
def test_what_is_wrong_with_a_form_is_said_above_it(
    world: World, headers: dict[str, str], verdict: str, form: dict[str, str], says: str
) -> None:
    review = staged(world, "hides\u200bsomething, so that approving asks for a reason")
    client = logged_in(world.reviewer)
    shown = shown_on(client, review)
    answer = decide(client, review, verdict, shown, form=form, headers=headers)
    assert answer.status_code == 422
    text = html.unescape(answer.content.decode())
    assert says in text
    assert f'value="{form["reason"]}"' in text
    assert answer.headers.get("HX-Retarget") == ("#proposal" if headers else None)
