"""The log: one line per request, and nothing of what a caller wrote in any line."""

import io
import json
import logging
import logging.config
import re
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from django.conf import settings
from django.db import OperationalError

from governance import memory
from memorywire_site import logs
from tests.world import World

SECRET = "Zanzibar-velociraptor-7741"


class Log:
    """What was written meanwhile."""

    def __init__(self, form: Literal["json", "line"]) -> None:
        self.stream = io.StringIO()
        configuration = logs.configuration(level="DEBUG", format=form)
        configuration["handlers"]["stderr"]["stream"] = self.stream
        logging.config.dictConfig(configuration)

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    def lines(self, event: str) -> list[dict[str, Any]]:
        rows = [json.loads(line) for line in self.text.splitlines()]
        return [row for row in rows if row["event"] == event]


@pytest.fixture
def log() -> Iterator[Log]:
    yield Log("json")
    logging.config.dictConfig(settings.LOGGING)


@pytest.fixture
def lines() -> Iterator[Log]:
    yield Log("line")
    logging.config.dictConfig(settings.LOGGING)


def test_a_request_is_one_line_that_says_who_what_and_how_long(log: Log, world: World) -> None:
    world.remember("Bob prefers tea")
    world.post("/v0/recall", {"agent_id": "a", "query": "tea"}, **{"X-Request-ID": "trace-77"})
    _, line = log.lines("request")
    assert line.pop("duration_ms") > 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", line.pop("timestamp"))
    assert line == {
        "event": "request",
        "level": "info",
        "logger": "governance.web.observing",
        "request_id": "trace-77",
        "method": "POST",
        "route": "/v0/recall",
        "status": 200,
        "key": "_".join(world.key.split("_")[:2]),
    }


def test_a_page_is_logged_with_the_members_number(log: Log, world: World) -> None:
    world.client.force_login(world.reviewer)
    world.client.get("/queue")
    (line,) = log.lines("request")
    assert (line["user"], line["route"], "key" in line) == (world.reviewer.pk, "/queue", False)


def test_whatever_is_logged_while_a_request_is_answered_carries_its_id(
    log: Log, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def noting(*_: object, **__: object) -> None:
        logging.getLogger("elsewhere").warning("on a ledger thread")

    monkeypatch.setattr("governance.recall_tracking.note", lambda *_, **__: None)
    monkeypatch.setattr("governance.recall._survey", noting)
    world.post("/v0/recall", {"agent_id": "a", "query": "q"}, **{"X-Request-ID": "trace-78"})
    (line,) = log.lines("on a ledger thread")
    assert line["request_id"] == "trace-78"


@pytest.mark.parametrize("form", ["log", "lines"])
def test_a_secret_in_every_field_leaves_no_trace(
    form: str, world: World, request: pytest.FixtureRequest
) -> None:
    log: Log = request.getfixturevalue(form)
    everywhere = {
        "agent_id": SECRET,
        "user_id": SECRET,
        "type": "semantic",
        "content": SECRET,
        "metadata": {SECRET: SECRET},
        "source": SECRET,
        SECRET: SECRET,
    }
    headers = {"Idempotency-Key": SECRET, "X-Request-ID": f"{SECRET} ", "Referer": SECRET}
    for path in (f"/v0/remember?{SECRET}={SECRET}", f"/v0/{SECRET}", "/v0/recall", "/v0/forget"):
        world.post(path, everywhere, **headers)
        world.post(path, everywhere, key=SECRET, **headers)
        world.post(path, SECRET.encode(), **headers)
    world.post("/v0/remember", everywhere | {"confidence": SECRET, "type": SECRET})
    world.post("/v0/recall", {"agent_id": SECRET, "query": SECRET, "filter": {"$no": SECRET}})
    world.get(f"/v0/operations/{SECRET}?wait={SECRET}")
    world.client.get(f"/{SECRET}?{SECRET}", headers={"Host": SECRET, "Cookie": SECRET})
    world.client.post("/login", {"login": SECRET, "password": SECRET})
    world.client.force_login(world.reviewer)
    world.client.get(f"/audit?cursor={SECRET}")
    world.client.post(f"/proposals/{SECRET}/decision", {"verdict": SECRET, "reason": SECRET})
    world.client.generic(SECRET, "/queue")
    assert log.text.count("request") > 10
    assert SECRET.lower() not in log.text.lower()
    assert world.key not in log.text


@pytest.mark.parametrize("form", ["log", "lines"])
def test_an_exception_keeps_its_traceback_but_no_values_and_no_message(
    form: str, world: World, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: Log = request.getfixturevalue(form)

    async def broken(*_: object) -> None:
        local = f"{SECRET}"
        try:
            {}[local]
        except KeyError as error:
            raise ValueError(f"cannot use {local}") from error

    monkeypatch.setattr(memory, "remember", broken)
    assert world.remember(SECRET).status_code == 500
    assert "KeyError: (message withheld)" in log.text
    assert "ValueError: (message withheld)" in log.text
    assert "in broken" in log.text
    assert SECRET not in log.text


def test_an_error_of_the_database_is_told_in_full(log: Log) -> None:
    try:
        raise OperationalError("database or disk is full")
    except OperationalError:
        logging.getLogger("governance").exception("failed")
    (line,) = log.lines("failed")
    assert line["exception"].endswith("OperationalError: database or disk is full")


def test_what_other_libraries_quote_is_taken_out(log: Log) -> None:
    logging.getLogger("uvicorn.error").info(
        '%s - "WebSocket %s" [accepted]', "peer", f"/live?{SECRET}"
    )
    logging.getLogger("asyncio").error(f"Task exception was never retrieved\nfuture: {SECRET}")
    logging.getLogger("celery.app.trace").error(
        "Task %(name)s raised: %(exc)s", {"name": "sweep", "exc": SECRET, "traceback": SECRET}
    )
    logging.getLogger("django.db.backends").debug("SELECT %s", SECRET)
    logging.getLogger("elsewhere").warning("told", extra={"content": SECRET})
    assert SECRET not in log.text
    assert log.lines("Task exception was never retrieved")
    assert log.lines("Task sweep raised: (below)")
    assert log.lines("told")


def test_lines_are_for_terminals_and_json_for_everything_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def renderer() -> str:
        formatter = logs.configuration(level="INFO", format=None)["formatters"]["chosen"]
        return type(formatter["processors"][-1]).__name__

    assert renderer() == "JSONRenderer"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert renderer() == "ConsoleRenderer"
