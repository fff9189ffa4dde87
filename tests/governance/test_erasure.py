"""After a hard forget no byte of the words is left, and the log still verifies."""

from pathlib import Path

from django.conf import settings
from django.db import connection

from governance.models import MemoryVector, MemoryVersion, SealKey
from governance.sealing import data_key
from tests.governance.test_thread import approve
from tests.profiles import embedded_only
from tests.world import World

SECRET = "Zanzibar-velociraptor-7741"
CONTROL = "Control-flamingo-9923"


def files_with(word: str) -> list[str]:
    """Files of the data folder that hold the word, however it was encoded in them."""
    forms = [word.encode(), word.lower().encode(), word.encode("utf-16-le")]
    # A tokenizer splits on the hyphens: its parts must be gone as well.
    forms += [part.lower().encode() for part in word.split("-") if len(part) > 6]
    return [
        path.name
        for path in Path(settings.HOME).rglob("*")
        if path.is_file() and any(form in path.read_bytes() for form in forms)
    ]


@embedded_only
def test_a_hard_forget_leaves_no_byte_of_the_text_in_any_file(world: World) -> None:
    padding = " ".join(f"word{number}" for number in range(2_000))  # needs overflow pages
    gone = world.remembered(f"{SECRET} {padding}", metadata={"note": SECRET}, source=SECRET)
    world.remembered(CONTROL)
    assert files_with(SECRET)

    answer = world.forget(ids=[gone], hard_delete=True).json()
    assert answer["forgotten_ids"] == [gone]
    assert answer["stores"] == [{"store": "sqlite-vec", "count": 1, "error": None}]

    assert files_with(SECRET) == []
    assert files_with(CONTROL)
    assert world.recall(CONTROL) == [CONTROL]
    assert world.actions() == ["memory.remembered", "memory.remembered", "memory.forgotten"]
    assert world.findings() == []
    tombstone = world.memory(gone)
    assert (tombstone.content, tombstone.metadata, tombstone.source) == ("", {}, None)
    assert data_key(SealKey.objects.get(pk=tombstone.seal_key_id)) is None
    assert MemoryVersion.objects.filter(memory=tombstone).count() == 1
    assert not MemoryVector.objects.filter(memory=tombstone).exists()


@embedded_only
def test_a_staged_then_forgotten_then_erased_memory_leaves_nothing_either(world: World) -> None:
    world.remember(SECRET, approval_required=True)
    review = world.pending_review()
    gone = review.targets[0]["id"]
    approve(world, review)
    world.forget(ids=[gone])
    assert files_with(SECRET)
    world.forget(ids=[gone], hard_delete=True)
    assert files_with(SECRET) == []
    assert world.findings() == []


def test_an_approved_hard_forget_erases_and_its_own_filter_is_not_kept(world: World) -> None:
    gone = world.remembered(SECRET, metadata={"name": SECRET})
    world.forget(filter={"name": SECRET}, hard_delete=True, approval_required=True)
    assert world.recall(SECRET) == [SECRET]
    approve(world, world.pending_review())
    assert world.recall(SECRET) == []
    assert world.memory(gone).erased_at is not None
    assert files_with(SECRET) == []
    assert world.findings() == []


def test_what_was_erased_is_not_erased_again(world: World) -> None:
    gone = world.remembered(SECRET)
    world.forget(ids=[gone], hard_delete=True)
    assert world.forget(ids=[gone], hard_delete=True).json()["forgotten_ids"] == []


@embedded_only
def test_secure_delete_is_on_for_the_ledgers_connections(world: World) -> None:
    with connection.cursor() as cursor:
        assert cursor.execute("PRAGMA secure_delete").fetchone() == (1,)
