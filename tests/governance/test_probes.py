"""Live, ready, and in numbers: what machines ask of the server."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from pytest_django.fixtures import DjangoAssertNumQueries, Settings

from governance import lifecycle, metrics, outbox, readiness, stores_runtime
from governance.clock import now_ms
from governance.models import Delivery, MemoryVector, triggers
from memorywire_site.environment import PROJECT, Environment
from tests.governance.test_thread import approve
from tests.profiles import PRIMARY
from tests.world import World

SECRET = "Zanzibar-velociraptor-7741"


@pytest.fixture(autouse=True)
def _judged_anew() -> Iterator[None]:
    readiness.forget()
    yield
    readiness.forget()


@pytest.fixture
def measured(world: World, settings: Settings) -> World:
    settings.ENVIRONMENT = Environment(metrics=True)
    return world


def body(response: HttpResponse) -> dict[str, Any]:
    return dict(json.loads(response.content))


def value(world: World, sample: str) -> float:
    """One line of ``/metrics``; 0 while there is none."""
    text = world.get("/metrics").content.decode()
    found = re.search(rf"^{re.escape(sample)} (\S+)$", text, flags=re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_live_asks_nothing_of_the_ledger(
    world: World, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    triggers.drop(connection)
    try:
        with django_assert_num_queries(0):
            answer = world.client.get("/livez")
        assert (answer.status_code, body(answer)) == (200, {"status": "alive"})
    finally:
        triggers.install(connection)


def test_ready_while_the_ledger_answers_and_public(world: World) -> None:
    answer = world.client.get("/readyz")
    assert (answer.status_code, body(answer)) == (200, {"status": "ready", "reasons": []})
    assert "no-store" in answer["Cache-Control"]


def test_unready_without_the_triggers_and_ready_a_second_after_they_are_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    triggers.drop(connection)
    try:
        answer = world.client.get("/readyz")
        assert answer.status_code == 503
        assert "triggers" in body(answer)["reasons"][0]
    finally:
        triggers.install(connection)
    assert world.client.get("/readyz").status_code == 503  # the judgement is kept …
    monkeypatch.setattr(readiness, "KEPT_SECONDS", 0)  # … for a second
    assert world.client.get("/readyz").status_code == 200


def test_unready_where_the_vectors_are_another_models(world: World) -> None:
    world.remembered("Bob prefers tea")
    MemoryVector.objects.update(model_id="some other model")
    answer = world.client.get("/readyz")
    assert answer.status_code == 503
    assert "some other model" in body(answer)["reasons"][0]


def test_unready_while_the_ledger_does_not_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> Iterator[str]:
        connection.cursor().execute("SELECT * FROM no_such_table")
        yield ""

    monkeypatch.setattr(readiness, "_reasons", broken)
    answer = world.client.get("/readyz")
    assert answer.status_code == 503
    (reason,) = body(answer)["reasons"]
    assert reason.startswith("The ledger does not answer as it should: ")


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
def test_probes_on_the_machine_itself_are_not_sent_to_https(
    measured: World, settings: Settings, path: str
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert measured.client.get(path).status_code == 200
    assert measured.client.get("/login").status_code == 301
    assert measured.client.post(path).status_code == 405


def test_there_are_no_metrics_unless_they_are_allowed(world: World) -> None:
    assert world.client.get("/metrics").status_code == 404


def test_requests_and_operations_are_counted_by_what_came_of_them(measured: World) -> None:
    route = 'memorywire_http_request_seconds_count{method="POST",route="/v0/remember",status="202"}'
    samples = {
        route: 1,
        'memorywire_operations_total{kind="remember",status="pending"}': 1,
        'memorywire_operations_total{kind="remember",status="applied"}': 1,
        'memorywire_operations_total{kind="recall",status="answered"}': 1,
        f'memorywire_store_search_seconds_count{{outcome="answered",store="{PRIMARY}"}}': 1,
        'memorywire_decisions_total{verdict="approve"}': 1,
        "memorywire_sweeps_total": 1,
        "memorywire_audit_rows": 3,
    }
    before = {sample: value(measured, sample) for sample in samples}
    measured.remember("Bob prefers tea", approval_required=True)
    approve(measured, measured.pending_review())
    measured.remembered("Bob prefers coffee on Sundays")
    measured.recall("tea")
    lifecycle.sweep_expired(now_ms=now_ms())
    for sample, more in samples.items():
        assert value(measured, sample) - before[sample] == more, sample


def test_the_queue_and_the_outbox_are_measured_and_fall_back_to_nothing(measured: World) -> None:
    lag, backlog = (
        f'memorywire_outbox_{name}{{store="{PRIMARY}"}}' for name in ("lag_seconds", "backlog")
    )
    measured.remember("Bob prefers tea", approval_required=True)
    measured.remembered("Bob prefers coffee")
    stores_runtime.wait(outbox.flush())
    Delivery.objects.update(delivered_version=0)
    assert value(measured, "memorywire_proposals_waiting") == 1
    assert 0 < value(measured, "memorywire_oldest_proposal_seconds") < 60
    assert (value(measured, backlog), value(measured, lag) > 0) == (1, True)
    approve(measured, measured.pending_review())
    stores_runtime.wait(outbox.flush())
    Delivery.objects.update(delivered_version=1_000)
    assert value(measured, "memorywire_proposals_waiting") == 0
    assert value(measured, "memorywire_oldest_proposal_seconds") == 0
    assert (value(measured, backlog), value(measured, lag)) == (0, 0)


def test_every_metric_of_ours_is_documented() -> None:
    text = (PROJECT / "docs" / "operations.md").read_text()
    names = {metric.name for metric in metrics.REGISTRY.collect()}
    undocumented = {name for name in names if name not in text and not name.startswith("process_")}
    assert undocumented == set()


def test_no_label_holds_what_a_caller_wrote_nor_an_id(measured: World) -> None:
    memory_id = measured.remembered(SECRET, metadata={SECRET: SECRET}, source=SECRET)
    measured.post(f"/v0/{SECRET}?{SECRET}={SECRET}", {SECRET: SECRET})
    measured.client.generic(SECRET.upper(), f"/proposals/{SECRET}")
    measured.get(f"/v0/operations/{memory_id}")
    text = measured.get("/metrics").content.decode()
    assert SECRET.lower() not in text.lower()
    assert memory_id not in text
    assert measured.workspace.pk not in text
    assert 'route="/v0/operations/{operation_id}"' in text or "operations/<" in text
