"""Set A, real failures of systems like ours: what a write keeps, refuses and never runs.

C09 is in test_idempotency; C21, M03 and M11 are in test_merge_and_expire, C43 also in test_pages.
"""

import re
import subprocess
import sys
from itertools import chain, product
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from governance import audit, execution, walls
from governance.clock import now_ms
from governance.models import Memory, MemoryVector
from governance.web.presenters import audit as audit_page
from tests.governance.no_import_probe import CALLBACKS, STATES_WITH_CALLBACKS, procedure
from tests.world import PASSWORD, World

NUL = "\x00"


def test_c03_a_nul_spoils_its_own_request_and_no_other(world: World) -> None:
    answers = [world.remember(text) for text in ("ok one", f"bad{NUL}two", "ok three")]
    assert [answer.status_code for answer in answers] == [200, 422, 200]
    assert sorted(world.recall("ok")) == ["ok one", "ok three"]


HIDING_PLACES: list[tuple[str, dict[str, Any]]] = [
    ("remember", {"metadata": {f"k{NUL}": "v"}}),
    ("remember", {"metadata": {"k": f"v{NUL}"}}),
    ("remember", {"metadata": {"deep": [{"k": f"v{NUL}"}]}}),
    ("remember", {"user_id": f"u{NUL}"}),
    ("remember", {"agent_id": f"a{NUL}"}),
    ("remember", {"source": f"s{NUL}"}),
    ("recall", {"query": f"a{NUL}b"}),
    ("recall", {"filter": {"k": f"v{NUL}"}}),
    ("forget", {"ids": [f"i{NUL}"]}),
    ("forget", {"filter": {f"k{NUL}": 1}}),
    ("merge", {"canonical": f"c{NUL}"}),
]
REQUIRED: dict[str, dict[str, Any]] = {
    "remember": {"type": "semantic", "content": "x"},
    "recall": {"query": "x"},
    "forget": {},
    "merge": {"canonical": "c", "duplicates": ["d"]},
}


def test_c03_a_nul_is_refused_wherever_it_stands(fast_world: World) -> None:
    for path, fields in HIDING_PLACES:
        body = {"agent_id": "concierge"} | REQUIRED[path] | fields
        answer = fast_world.post(f"/v0/{path}", body)
        assert (answer.status_code, answer.json()["code"]) == (422, "json_nul_character"), fields
    assert Memory.objects.count() == 0


def test_c27_a_merge_of_content_leaves_every_other_field_as_it_was(world: World) -> None:
    kept = world.remembered(
        "Alice sits at the aisle",
        metadata={
            "a": 1,
            "b": "two",
            "c": [3],
            "d": {"e": 4},
            "f": None,
            "g": 10**20,
        },
        confidence=0.7,
        source="desk",
        expires_at=now_ms() + 1_000_000,
        user_id="alice",
    )
    other = world.remembered("She owns a zeppelin", metadata={"b": "new"}, user_id="alice")
    before = world.memory(kept)
    body = {"agent_id": "concierge", "canonical": kept, "duplicates": [other]}
    assert world.post("/v0/merge", body | {"strategy": "merge_content"}).status_code == 200
    after = world.memory(kept)

    assert after.content == "Alice sits at the aisle\nShe owns a zeppelin"
    assert after.metadata == before.metadata | {"b": "new"}
    assert after.confidence == 1.0  # the other's, who was sure
    unchanged = ("source", "expires_at", "user_id", "created_at", "type")
    assert [getattr(after, name) for name in unchanged] == [
        getattr(before, name) for name in unchanged
    ]
    assert after.updated_at > before.updated_at

    (hit,) = world.recall_hits("who owns an airship?")  # by its vector
    assert hit["metadata"]["g"] == 10**20
    assert world.recall_hits("zeppelin")[0]["id"] == kept  # by its words
    newest = MemoryVector.objects.filter(memory=after).order_by("version_number").last()
    assert newest is not None
    assert newest.version_number == after.version


LOOK_ALIKES = ["billing\u2011bot", "b\u0456lling-bot", "\uff42illing-bot", "billing\u200b-bot"]
LOOK_DIFFERENT = ["billing-bot", "billing-bot ", "BILLING-BOT"]


def test_c45_a_name_that_passes_for_another_is_refused(fast_world: World) -> None:
    for name, field in product(LOOK_ALIKES, ("agent_id", "user_id")):
        answer = fast_world.remember("x", **{field: name})
        assert answer.status_code == 422, ascii(name)
        (problem,) = answer.json()["errors"]
        assert (problem["field"], problem["code"]) == (field, "look_alike")
        request = {"agent_id": "concierge", "query": "x", field: name}
        assert fast_world.post("/v0/recall", request).status_code == 422
    assert Memory.objects.count() == 0


def test_c45_names_that_differ_at_all_share_nothing(fast_world: World) -> None:
    for name in LOOK_DIFFERENT:
        fast_world.remembered(f"secret of [{name}]", agent_id=name)
    for name in LOOK_DIFFERENT:
        assert fast_world.recall("secret", agent_id=name) == [f"secret of [{name}]"]


def test_c45_pages_show_the_space_that_makes_two_names_differ(fast_world: World) -> None:
    fast_world.remembered("x", agent_id="billing-bot ")
    page = logged_in(fast_world).get("/audit").content.decode()
    assert re.search(r"billing-bot<span class=\"cp\">.*?U\+0020 SP</span>", page)


DOORS: list[dict[str, Any]] = [
    {},
    {"approval_required": True},
    {"id": "moved-in", "created_at": 1_700_000_000_000},
]


def test_c49_a_procedure_that_names_code_is_refused_at_every_door(fast_world: World) -> None:
    for bad, door in product([*CALLBACKS, *STATES_WITH_CALLBACKS], DOORS):
        answer = fast_world.remember(procedure(bad), type="procedural", **door)
        assert (answer.status_code, answer.json()["code"]) == (422, "procedure_invalid"), bad
    assert Memory.objects.count() == 0


def test_c49_a_merge_makes_no_procedure_that_names_code(fast_world: World) -> None:
    good = fast_world.remembered(procedure(), type="procedural")
    text = fast_world.remembered(procedure(CALLBACKS[0]))  # as text it is only text
    body = {"agent_id": "concierge", "canonical": good, "duplicates": [text]}
    answer = fast_world.post("/v0/merge", body | {"strategy": "merge_content"})
    assert (answer.status_code, answer.json()["code"]) == (422, "procedure_invalid")
    assert fast_world.memory(good).content == procedure()
    assert fast_world.memory(text).deleted_at is None


def test_c49_nothing_a_procedure_names_is_imported_or_run() -> None:
    # In a process of its own: an audit hook cannot be taken away again.
    probe = subprocess.run(
        [sys.executable, "-m", "tests.governance.no_import_probe"],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert probe.returncode == 0, probe.stdout + probe.stderr
    assert "0 imported or run" in probe.stdout


def logged_in(world: World) -> Client:
    client = Client()
    client.post("/login", {"login": world.reviewer.email, "password": PASSWORD})
    return client


def test_c43_rows_of_one_millisecond_are_each_on_one_page_in_both_directions(
    fast_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_page, "_ROWS_PER_PAGE", 7)
    actor = audit.Actor.system("test")
    entries = [audit.Entry(action="forget.not_found", actor=actor, request_id="r")] * 200
    workspace_id = fast_world.workspace.pk

    def append() -> None:
        walls.enter(workspace_id)
        audit.append(workspace_id, entries, now_ms=now_ms())

    execution.write_sync(append)
    client = logged_in(fast_world)

    def walk(address: str, way: str) -> tuple[list[list[int]], str]:
        pages = []
        while True:
            page = client.get(address).content.decode()
            pages.append([int(found) for found in re.findall(r'href="/audit/(\d+)"', page)])
            fast_world.forget(ids=["unknown"])  # rows keep coming
            further = re.search(rf'rel="{way}" href="(\?(?:cursor|newer)=[^"]+)"', page)
            if further is None or (way == "prev" and pages[-1][0] >= 200):
                return pages, address
            address = f"/audit{further[1]}"

    older, last = walk("/audit", "next")
    assert list(chain(*older)) == list(range(200, 0, -1))
    assert {len(page) for page in older[:-1]} == {7}
    newer, _ = walk(last, "prev")
    seen = list(chain(*reversed(newer)))
    assert seen == sorted(set(seen), reverse=True)
    assert set(range(1, 201)) <= set(seen)
