"""Holding stores against the ledger: every difference is found, said, and mended."""

from collections.abc import Callable, Sequence
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from governance import filling, outbox, reconciliation, stores_runtime
from governance.clock import now_ms
from governance.models import Delivery
from governance.reconciliation import Difference, Progress
from stores.protocol import Replica, ReplicaRecord
from tests.world import World


@pytest.fixture
def store(world: World) -> Replica:
    """The world's only store, with three memories that were delivered."""
    for content in ("The ferry leaves at nine", "Bob prefers tea", "The lighthouse is red"):
        world.remembered(content)
    stores_runtime.wait(outbox.flush())
    (name,) = stores_runtime.store_names()
    return stores_runtime.wait(stores_runtime.replica(world.workspace.pk, name))


def found(run: Callable[[str], object], store: Replica) -> dict[str, Difference]:
    progress: Sequence[Progress] = list(run(store.name))  # type: ignore[call-overload]
    return {each.memory_id: each.difference for step in progress for each in step.findings}


def held(store: Replica) -> dict[str, ReplicaRecord]:
    return {state.record.id: state for state in stores_runtime.wait(store.scan()).records}


def spoil(store: Replica) -> dict[str, Difference]:
    """One of each: what it holds less, other and more than the ledger."""
    missing, altered, outdated = sorted(held(store))
    states = held(store)
    stores_runtime.wait(store.drop([missing, altered, outdated]))
    of_another_text = states[altered].record.model_copy(update={"content": "Bob prefers beer"})
    unknown = states[missing].record.model_copy(update={"id": "unknown"})
    stores_runtime.wait(
        store.put(
            [
                ReplicaRecord(record=of_another_text, version=1, vector=states[altered].vector),
                ReplicaRecord(record=states[outdated].record, version=0),
                ReplicaRecord(record=unknown, version=9),
            ]
        )
    )
    return {
        missing: Difference.MISSING,
        altered: Difference.ALTERED,
        outdated: Difference.OUTDATED,
        "unknown": Difference.SURPLUS,
    }


def test_a_store_that_is_as_it_should_be_has_no_difference(store: Replica) -> None:
    assert found(reconciliation.verify, store) == {}


def test_every_kind_of_difference_is_found_and_mended(store: Replica) -> None:
    before = held(store)
    differences = spoil(store)
    assert found(reconciliation.verify, store) == differences
    assert found(reconciliation.repair, store) == differences
    assert found(reconciliation.verify, store) == {}
    after = held(store)
    assert {pk: (s.record, s.version) for pk, s in after.items()} == {
        pk: (s.record, s.version) for pk, s in before.items()
    }


def test_what_was_forgotten_and_is_still_held_is_surplus(world: World, store: Replica) -> None:
    memory_id = min(held(store))
    state = held(store)[memory_id]
    world.forget(ids=[memory_id])
    stores_runtime.wait(outbox.flush())
    assert found(reconciliation.verify, store) == {}
    stores_runtime.wait(store.drop([memory_id]))
    stores_runtime.wait(store.put([state]))
    assert found(reconciliation.repair, store) == {memory_id: Difference.SURPLUS}
    assert memory_id not in held(store)
    # It is known to be gone again: a late, older state comes to nothing.
    stores_runtime.wait(store.put([state]))
    assert memory_id not in held(store)


def test_what_is_on_its_way_is_no_difference(store: Replica) -> None:
    memory_id = min(held(store))
    stores_runtime.wait(store.drop([memory_id]))
    Delivery.objects.filter(memory=memory_id).update(delivered_version=0)
    assert found(reconciliation.verify, store) == {}


def test_reindexing_sends_everything_anew(store: Replica) -> None:
    spoil(store)
    list(reconciliation.reindex(store.name))
    assert set(found(reconciliation.verify, store)) == {"unknown"}


def test_a_state_overtaken_while_it_is_sent_anew_is_sent_once_more(
    world: World, store: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write between the drop and the sending: the store must end with the newer state."""
    memory_id = min(held(store))
    deliver = outbox.deliver

    def forget_first(parcels: Sequence[outbox.Parcel]) -> int:
        monkeypatch.setattr(outbox, "deliver", deliver)
        world.forget(ids=[memory_id])
        stores_runtime.wait(outbox.flush())
        stores_runtime.wait(store.drop([memory_id]))  # as if the drop had come last
        return deliver(parcels)

    stores_runtime.wait(store.drop([memory_id]))
    monkeypatch.setattr(outbox, "deliver", forget_first)
    list(reconciliation.repair(store.name))
    while outbox.deliver_due(now_ms=now_ms()):
        pass
    assert memory_id not in held(store)
    assert found(reconciliation.verify, store) == {}


def test_the_command_says_what_differs_and_mends_it(store: Replica) -> None:
    spoil(store)
    out = StringIO()
    with pytest.raises(CommandError, match="4 differences"):
        call_command("stores", "verify", stdout=out)
    assert "1 altered, 1 missing, 1 outdated, 1 surplus differ" in out.getvalue()
    call_command("stores", "repair", store.name, stdout=StringIO())
    call_command("stores", "verify", stdout=StringIO())
    with pytest.raises(CommandError, match="No store is named nowhere"):
        call_command("stores", "verify", "nowhere")


def test_a_store_that_was_added_later_is_filled(world: World, settings: Settings) -> None:
    kept = world.remembered("The ferry leaves at nine")
    gone = world.remembered("Bob prefers tea")
    world.forget(ids=[gone])
    stores_runtime.wait(outbox.flush())
    stores_runtime.close()
    settings.STORE_URLS = [*settings.STORE_URLS, "memory://memory"]
    later = stores_runtime.wait(stores_runtime.replica(world.workspace.pk, "memory"))
    assert filling.fill(now_ms=now_ms()) == 1
    assert filling.fill(now_ms=now_ms()) == 0
    while outbox.deliver_due(now_ms=now_ms()):
        pass
    assert set(held(later)) == {kept}
    assert found(reconciliation.verify, later) == {}


def test_a_store_that_is_no_longer_configured_is_left_alone(
    world: World, settings: Settings
) -> None:
    settings.STORE_URLS = [*settings.STORE_URLS, "memory://former"]
    world.remembered("The ferry leaves at nine")
    settings.STORE_URLS = settings.STORE_URLS[:1]
    stores_runtime.close()
    assert outbox.deliver_due(now_ms=now_ms()) == 0
    assert Delivery.objects.filter(store="memory", delivered_version=0).count() == 1
