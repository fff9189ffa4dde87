"""The audit log in the browser: filtered, followed, paged both ways, and taken along whole."""

import csv
import io
import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from governance import audit
from governance.models import AuditHead, AuditRow, Role
from tests.governance.test_query_counts import Counted, counted
from tests.permissions import EVERYBODY, as_whom, browser
from tests.world import World, add_person

__all__ = ["counted"]


@pytest.fixture
def auditor(world: World) -> Client:
    return browser(add_person(world.workspace, Role.AUDITOR))


def sequences(client: Client, address: str) -> list[int]:
    page = client.get(address).content.decode()
    return [int(number) for number in re.findall(r'href="/audit/(\d+)"', page)]


def export(client: Client, kind: str, **asked: str) -> str:
    answer = client.post("/audit/export", {"format": kind, **asked})
    assert answer.status_code == 200
    return b"".join(answer).decode()  # the test client has no loop to stream on


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize(
    ("method", "path", "statuses"),
    [
        ("get", "/audit?agent=concierge", [302, 403, 200, 200, 200, 200]),
        ("get", "/audit/1", [302, 403, 200, 200, 200, 404]),
        ("post", "/audit/export", [302, 403, 403, 200, 200, 200]),
        ("get", "/audit/export", [405] * 6),
    ],
)
def test_who_may(world: World, method: str, path: str, statuses: list[int], who: str) -> None:
    world.remembered("so that there is a row")
    form = {"format": "csv"} if method == "post" else {}
    answer = getattr(as_whom(world, who), method)(path, form)
    assert answer.status_code == statuses[EVERYBODY.index(who)]


def test_the_log_is_filtered_by_what_happened_to_whom_and_when(
    world: World, auditor: Client
) -> None:
    first = world.remembered("one")
    world.remembered("two", agent_id="mail")
    world.remember("three", approval_required=True)
    review = world.pending_review()
    assert sequences(auditor, "/audit?action=memory.remembered") == [2, 1]
    assert sequences(auditor, "/audit?agent=mail") == [2]
    assert sequences(auditor, f"/audit?memory={first}") == [1]
    assert sequences(auditor, f"/audit?review={review.pk}") == [3]
    assert sequences(auditor, f"/audit?memory={first}&agent=mail") == []
    assert sequences(auditor, "/audit?to=2020-01-01") == []
    assert sequences(auditor, "/audit?from=2020-01-01&to=9999-12-30") == [3, 2, 1]


def test_the_last_day_of_a_filter_is_within_it(world: World, auditor: Client) -> None:
    world.remembered("one")
    today = datetime.fromtimestamp(AuditRow.objects.get().at_ms / 1000, tz=UTC).date().isoformat()
    assert sequences(auditor, f"/audit?from={today}&to={today}") == [1]


def test_an_actor_is_followed_exactly_though_others_have_the_name(
    world: World, auditor: Client
) -> None:
    namesakes = [add_person(world.workspace, Role.AUDITOR) for _ in range(2)]
    for person in namesakes:
        type(person).objects.filter(pk=person.pk).update(name="Sam")
        export(browser(person), "csv")
    assert sequences(auditor, "/audit?actor=sam") == [2, 1]
    assert sequences(auditor, f"/audit?actor=person:{namesakes[0].pk}") == [1]
    page = auditor.get("/audit").content.decode()
    assert f'href="/audit?actor=person%3A{namesakes[0].pk}"' in page


@pytest.mark.parametrize("day", ["yesterday", "2026-13-01", "9999-12-31"])
def test_a_day_that_is_none_is_refused(world: World, auditor: Client, day: str) -> None:
    assert auditor.get("/audit", {"to": day}).status_code == 400


def walk(client: Client, address: str, rel: str) -> list[list[int]]:
    """The rows of each page from one on, following its links."""
    pages = []
    while address:
        page = client.get(address).content.decode()
        pages.append([int(number) for number in re.findall(r'href="/audit/(\d+)"', page)])
        link = re.search(rf'rel="{rel}" href="(\?[^"]+)"', page)
        address = f"/audit{link[1].replace('&amp;', '&')}" if link else ""
    return pages


def test_filtered_pages_go_both_ways_and_meet_every_row_once(world: World, auditor: Client) -> None:
    for number in range(130):
        world.forget(ids=["unknown"], agent_id="mail" if number % 2 else "concierge")
    wanted = list(range(130, 0, -2))
    down = walk(auditor, "/audit?agent=mail", "next")
    assert [number for rows in down for number in rows] == wanted
    page = auditor.get("/audit?agent=mail").content.decode()
    older = re.search(r'rel="next" href="(\?[^"]+)"', page)
    assert older
    up = walk(auditor, f"/audit{older[1].replace('&amp;', '&')}", "prev")
    assert up == [down[1], down[0]]


def test_an_export_holds_every_row_with_its_words_and_is_itself_a_row(
    world: World, auditor: Client
) -> None:
    world.remembered("Alice likes tea")
    world.remembered("not this one", agent_id="mail")
    lines = [json.loads(line) for line in export(auditor, "jsonl", agent="concierge").splitlines()]
    assert [line["sequence"] for line in lines] == [1]
    assert lines[0]["words"]["content"] == "Alice likes tea"
    assert lines[0]["mac"] == AuditRow.objects.get(sequence=1).mac
    noted = AuditRow.objects.get(action="audit.exported")
    assert noted.actor_kind == "person"
    assert noted.facts == {"format": "jsonl", "filter": {"agent": "concierge"}, "until": 2}


def test_an_erased_memorys_words_are_not_exported(world: World, auditor: Client) -> None:
    world.forget(ids=[world.remembered("a secret word")], hard_delete=True)
    assert "a secret word" not in export(auditor, "jsonl")


@pytest.mark.parametrize("start", ["=", "+", "-", "@"])
def test_no_cell_of_a_csv_can_start_a_formula(world: World, auditor: Client, start: str) -> None:
    agent = f"{start}cmd|' /C calc'!A0 \"x\""
    world.remembered("one", agent_id=agent)
    (row,) = csv.DictReader(io.StringIO(export(auditor, "csv"), newline=""))
    assert row["agent_id"] == f"'{agent}"
    assert json.loads(row["words"])["content"] == "one"


@pytest.mark.parametrize("start", ["\t", "\r"])
def test_nor_can_one_that_begins_with_a_control(world: World, auditor: Client, start: str) -> None:
    world.remembered("one", id=f"{start}=1+1")
    (row,) = csv.DictReader(io.StringIO(export(auditor, "csv"), newline=""))
    assert row["memory_id"] == f"'{start}=1+1"


def test_an_unknown_format_is_refused_and_not_noted(world: World, auditor: Client) -> None:
    assert auditor.post("/audit/export", {"format": "xml"}).status_code == 400
    assert world.actions() == []


def many_rows(world: World, count: int) -> None:
    """Rows as an old log has them, straight into the table: what they say is not proven here."""
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %s)"
            " INSERT INTO governance_auditrow (workspace_id, sequence, at_ms, action, actor_kind,"
            " actor_id, actor_label, request_id, agent_id, operation_id, review_id, memory_id,"
            " state_digest, facts, commitment, previous_mac, mac)"
            " SELECT %s, i, 1700000000000 + i, 'forget.not_found', 'system', 'x', 'x', '', 'a',"
            " '', '', '', '', '{}', '', '', '' FROM n",
            [count, world.workspace.pk],
        )
    AuditHead.objects.filter(workspace=world.workspace).update(sequence=count)


async def collected(world: World, until: int) -> list[str]:
    asked = audit.Filter(agent_id="a")
    return [part async for part in audit.as_jsonl(world.workspace.pk, asked, until=until)]


@pytest.fixture
def old_log(world: World) -> World:
    many_rows(world, 150_001)
    return world


async def test_an_export_of_150001_rows_is_whole_and_comes_in_pieces(old_log: World) -> None:
    parts = await collected(old_log, 150_001)
    assert len(parts) == 151
    numbers = [json.loads(line)["sequence"] for part in parts for line in part.splitlines()]
    assert numbers == list(range(1, 150_002))


def test_what_a_filtered_page_costs(world: World, auditor: Client, counted: Counted) -> None:
    for _ in range(60):
        world.forget(ids=["unknown"])
    assert counted(lambda: auditor.get("/audit?agent=concierge")) == 7


def test_an_empty_answer_says_how_to_find_more(world: World, auditor: Client) -> None:
    world.remembered("one")
    page: Any = auditor.get("/audit?agent=nobody").content.decode()
    assert "meets the whole filter" in page
