"""The pages over HTTP: who may see what, what a decision answers, what a page costs."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from governance.models import Decision, Memory, Review, Role, User
from tests.governance.test_query_counts import Counted, counted
from tests.world import PASSWORD, World, add_person

__all__ = ["counted"]

LogIn = Callable[[User], Client]
HTMX = {"HX-Request": "true", "HX-Current-URL": "http://testserver/queue"}


def logged_in(person: User) -> Client:
    client = Client(raise_request_exception=False)
    answer = client.post("/login", {"login": person.email, "password": PASSWORD})
    assert answer.status_code == 302
    return client


def staged(world: World, content: str, **extra: Any) -> Review:
    answer = world.remember(content, approval_required=True, **extra)
    return Review.objects.get(pk=answer.json()["approval_url"].rsplit("/", 1)[1])


def decide(client: Client, review: Review, verdict: str, shown: str, **extra: Any) -> HttpResponse:
    form = {"verdict": verdict, "shown": shown, **extra.pop("form", {})}
    return client.post(f"/proposals/{review.pk}/decision", form, **extra)  # type: ignore[return-value]


def shown_on(client: Client, review: Review) -> str:
    page = client.get(f"/proposals/{review.pk}").content.decode()
    found = re.search(r'name="shown" value="(\w+)"', page)
    assert found
    return found.group(1)


ADDRESSES = ["/queue", "/queue/changes?cursor=0", "/audit", "/audit/1"]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize(
    ("who", "status"),
    [("nobody", 302), ("outsider", 403), ("no role", 403), ("auditor", 200), ("reviewer", 200)],
)
def test_who_may_see_a_page(world: World, address: str, who: str, status: int) -> None:
    world.remembered("so that there is a row")
    outsider = User.objects.create_user("outsider@example.com", PASSWORD)
    clients = {
        "nobody": lambda: Client(),
        "outsider": lambda: logged_in(outsider),
        "no role": lambda: logged_in(add_person(world.workspace)),
        "auditor": lambda: logged_in(add_person(world.workspace, Role.AUDITOR)),
        "reviewer": lambda: logged_in(world.reviewer),
    }
    assert clients[who]().get(address).status_code == status


def test_an_address_logs_in_however_it_is_capitalised(world: World) -> None:
    form = {"login": world.reviewer.email.upper(), "password": PASSWORD}
    assert Client().post("/login", form).status_code == 302


def test_another_workspaces_proposal_and_rows_are_not_found(world: World) -> None:
    review = staged(world, "ours")
    stranger = logged_in(World.create("other").reviewer)
    for address in (f"/proposals/{review.pk}", "/audit/1"):
        assert stranger.get(address).status_code == 404
    assert decide(stranger, review, "approve", "x").status_code == 404
    assert review.pk not in stranger.get("/queue").content.decode()


@pytest.mark.parametrize(("role", "status"), [(Role.AUDITOR, 403), (Role.ADMIN, 303)])
def test_only_reviewers_and_admins_decide(world: World, role: Role, status: int) -> None:
    review = staged(world, "Alice likes tea")
    client = logged_in(add_person(world.workspace, role))
    assert decide(client, review, "approve", world.shown(review)).status_code == status


def test_a_person_who_answers_for_the_key_sees_no_approve_and_is_refused(world: World) -> None:
    review = staged(world, "Alice likes tea")
    Review.objects.get(pk=review.pk)
    type(review.operation).objects.filter(pk=review.operation_id).update(proposer=world.reviewer)
    client = logged_in(world.reviewer)
    page = client.get(f"/proposals/{review.pk}").content.decode()
    assert "somebody else must approve it" in page
    assert 'value="approve"' not in page
    answer = decide(client, review, "approve", shown_on(client, review))
    assert answer.status_code == 403
    assert "cannot approve it" in answer.content.decode()


def test_approving_applies_and_shows_the_next_proposal(world: World) -> None:
    first, second = staged(world, "one"), staged(world, "two")
    client = logged_in(world.reviewer)
    answer = decide(client, first, "approve", shown_on(client, first))
    assert answer.status_code == 303
    assert answer.headers["Location"] == f"/proposals/{second.pk}?decided={first.pk}"
    assert "Approved “Remember a fact”" in client.get(answer.headers["Location"]).content.decode()
    assert world.recall("one") == ["one"]

    fragment = decide(client, second, "approve", shown_on(client, second), headers=HTMX)
    assert fragment.headers["HX-Push-Url"] == "/queue"
    assert b"Nothing waits for a decision" in fragment.content
    assert b"<html" not in fragment.content


def test_a_rejection_keeps_the_quick_and_the_written_reason(world: World) -> None:
    review = staged(world, "Alice likes tea")
    client = logged_in(world.reviewer)
    form = {"quick": "Not true", "reason": " she said so "}
    decide(client, review, "reject", shown_on(client, review), form=form)
    assert Decision.objects.get(review=review).reason == "Not true: she said so"
    assert world.recall("tea") == []


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_stale_form_is_refused_with_the_proposal_as_it_is_now(
    world: World, headers: dict[str, str]
) -> None:
    review = staged(world, "Alice likes tea")
    client = logged_in(world.reviewer)
    answer = decide(client, review, "approve", "what another page showed", headers=headers)
    assert answer.status_code == 409
    page = answer.content.decode()
    assert "no longer what was shown" in page
    assert f'value="{world.shown(review)}"' in page
    assert answer.headers.get("HX-Retarget") == ("#proposal" if headers else None)
    assert Review.objects.get(pk=review.pk).status == "pending"


def test_a_second_decision_says_who_was_first(world: World) -> None:
    review = staged(world, "Alice likes tea")
    client = logged_in(world.reviewer)
    shown = shown_on(client, review)
    decide(client, review, "approve", shown)
    answer = decide(logged_in(add_person(world.workspace, Role.ADMIN)), review, "reject", shown)
    assert answer.status_code == 409
    page = answer.content.decode()
    assert "already decided" in page
    assert f"{world.reviewer.name}</bdi> approved this" in page


def test_a_memory_that_changed_meanwhile_leaves_only_rejecting(world: World) -> None:
    memory_id = world.remembered("Alice likes tea")
    world.forget(ids=[memory_id], approval_required=True)
    review = world.pending_review()
    world.forget(ids=[memory_id])
    page = logged_in(world.reviewer).get(f"/proposals/{review.pk}").content.decode()
    assert "changed since this was proposed" in page
    assert 'value="approve"' not in page


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"verdict": "perhaps"}, 400),
        ({"verdict": "reject", "reason": "x" * 4_001}, 422),
    ],
)
def test_a_form_of_nobodys_making_is_refused(
    world: World, form: dict[str, str], status: int
) -> None:
    review = staged(world, "Alice likes tea")
    client = logged_in(world.reviewer)
    assert client.post(f"/proposals/{review.pk}/decision", form).status_code == status
    assert client.get(f"/proposals/{review.pk}/decision").status_code == 405


def test_a_decision_without_its_token_is_refused(world: World) -> None:
    review = staged(world, "Alice likes tea")
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.reviewer)
    answer = decide(client, review, "approve", world.shown(review))
    assert answer.status_code == 403
    assert "nothing was decided" in answer.content.decode()


def test_a_page_hears_of_changes_only_when_there_are_some(world: World) -> None:
    review = staged(world, "Alice likes tea")
    client = logged_in(world.reviewer)
    page = client.get("/queue").content.decode()
    cursor = re.search(r'data-cursor="(\d+)"', page)
    assert cursor
    asking = f"/queue/changes?cursor={cursor[1]}&open={review.pk}"
    assert client.get(asking).status_code == 204

    decide(client, review, "approve", shown_on(client, review))

    news = client.get(asking).content.decode()
    assert "Nothing is waiting" in news
    assert f"{world.reviewer.name}</bdi> approved this" in news


def test_whoever_was_logged_out_is_told_in_the_way_their_request_understands() -> None:
    page = Client().get("/queue?x=1")
    assert page.headers["Location"] == "/login?next=%2Fqueue%3Fx%3D1"
    fragment = Client().get("/proposals/x", headers=HTMX)
    assert fragment.headers["HX-Redirect"] == "/login?next=%2Fqueue"
    news = Client().get("/queue/changes", headers={"X-Requested-With": "XMLHttpRequest"})
    assert news.status_code == 401


def test_pages_are_kept_by_no_cache_and_run_nothing_inline(world: World) -> None:
    client = logged_in(add_person(world.workspace, Role.ADMIN))
    staged(world, "Alice likes tea")
    pages = ("/memories", "/rules", "/rules/new", "/keys", "/keys/new", "/members")
    for address in ("/queue", "/audit", "/login", "/nothing-here", *pages):
        answer = client.get(address)
        page = answer.content.decode()
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page), address
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
    assert "no-store" in client.get("/queue").headers["Cache-Control"]


def test_every_row_is_on_exactly_one_page_of_the_audit_log(world: World) -> None:
    for number in range(120):
        world.remember("", key=None)  # refused before it leaves a row
        if number % 2:
            world.forget(ids=[f"unknown-{number}"])
    client = logged_in(world.reviewer)
    total = len(world.actions())
    seen, address = [], "/audit"
    while address:
        page = client.get(address).content.decode()
        seen += [int(number) for number in re.findall(r'href="/audit/(\d+)"', page)]
        older = re.search(r'rel="next" href="(\?cursor=[^"]+)"', page)
        address = f"/audit{older[1]}" if older else ""
        world.forget(ids=["unknown"])  # rows keep coming
    assert seen == list(range(total, 0, -1))


@pytest.mark.parametrize("cursor", ["x", "1", "WzEsMl0:x:y"])
def test_an_altered_or_foreign_cursor_is_refused(world: World, cursor: str) -> None:
    assert logged_in(world.reviewer).get("/audit", {"cursor": cursor}).status_code == 400


def test_another_workspaces_cursor_is_refused(world: World) -> None:
    for number in range(60):
        world.forget(ids=[f"unknown-{number}"])
    page = logged_in(world.reviewer).get("/audit").content.decode()
    older = re.search(r'rel="next" href="(\?cursor=[^"]+)"', page)
    assert older
    stranger = logged_in(World.create("other").reviewer)
    assert stranger.get(f"/audit{older[1]}").status_code == 400


def test_an_erased_memorys_words_are_gone_from_its_row_and_its_proposal(world: World) -> None:
    review = staged(world, "a secret word")
    client = logged_in(world.reviewer)
    decide(client, review, "approve", shown_on(client, review))
    assert "a secret word" in client.get("/audit/1").content.decode()
    world.forget(ids=[Memory.objects.get().pk], hard_delete=True)
    for address in ("/audit/1", f"/proposals/{review.pk}"):
        page = client.get(address).content.decode()
        assert "a secret word" not in page
        assert "rased" in page


def test_a_proposal_is_compared_with_what_the_same_agent_knows_of_the_same_thing(
    world: World,
) -> None:
    about = {"metadata": {"entity": 'alice "al" 50%', "attribute": "drink"}}
    world.remembered("Alice likes tea", **about)
    world.remembered("Alice likes cake", metadata={"entity": "alice", "attribute": "food"})
    world.remembered("Alice likes milk", user_id="somebody else", **about)
    review = staged(world, "Alice likes coffee", **about)
    page = logged_in(world.reviewer).get(f"/proposals/{review.pk}").content.decode()
    assert "removed: </span>tea" in page
    assert "added: </span>coffee" in page


@pytest.mark.parametrize("waiting", [1, 30])
def test_the_queue_page_costs_the_same_however_long_it_is(
    world: World, counted: Counted, waiting: int
) -> None:
    for number in range(waiting):
        staged(world, f"Alice likes tea number {number}", metadata={"entity": "alice"})
    client = logged_in(world.reviewer)
    assert counted(lambda: client.get("/queue")) == 11


def test_what_the_other_pages_cost(world: World, counted: Counted) -> None:
    review = staged(world, "Alice likes tea", metadata={"entity": "alice"})
    client = logged_in(world.reviewer)
    assert counted(lambda: client.get(f"/proposals/{review.pk}", headers=HTMX)) == 7
    assert counted(lambda: client.get("/queue/changes?cursor=1")) == 4
    assert counted(lambda: client.get("/audit")) == 6
