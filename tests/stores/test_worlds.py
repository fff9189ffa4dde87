"""Recall equals brute force in random worlds of neighbours, staged, forgotten, archived rows."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from stores.expiry import DAY_MS
from stores.protocol import PENDING_APPROVAL, ReplicaRecord
from stores.records import RecordStore
from stores.registry import open_replica
from stores.wire import Fusion, MemoryType, RecallRequest
from tests.stores.builders import EMBEDDER, NOW, a_state

WORDS = ["apple", "pie", "red", "bicycle", "train", "noon", "tea", "oslo"]
STATES: list[dict[str, int]] = [
    {},
    {},
    {},
    {"deleted_at": PENDING_APPROVAL},
    {"deleted_at": NOW - 5},
    {"archived_at": NOW - 5},
]


@dataclass
class World:
    """Memories of a small agent among noisy ones, and a question about them."""

    states: list[ReplicaRecord]
    request: RecallRequest

    def visible(self) -> list[ReplicaRecord]:
        """What the question may see, decided the slow and obvious way."""
        r = self.request
        oldest = None if r.fresher_than_days is None else NOW - r.fresher_than_days * DAY_MS
        return [
            state
            for state in self.states
            if state.record.agent_id == r.agent_id
            and r.user_id in (None, state.record.user_id)
            and state.deleted_at is None
            and state.archived_at is None
            and (state.record.expires_at is None or state.record.expires_at > NOW)
            and (r.types is None or state.record.type in r.types)
            and (oldest is None or state.record.created_at >= oldest)
            and (r.filter is None or state.record.metadata["n"] >= r.filter["n"]["$gte"])
        ]


def a_world(
    seed: int, *, query: str | None = None, kinds: Sequence[MemoryType] = tuple(MemoryType)
) -> World:
    dice = random.Random(seed)
    noise = dice.choice([0, 50, 400])
    states = [
        a_state(
            f"m{number:04}",
            " ".join(dice.choices(WORDS, k=dice.randint(1, 5))),
            agent_id="small" if number >= noise else dice.choice(["noisy", "Small", "small "]),
            user_id=dice.choice([None, "ann", "bob"]),
            type=dice.choice(kinds),
            metadata={"n": dice.randint(0, 9)},
            created_at=NOW - dice.randint(0, 9) * DAY_MS - 1,
            expires_at=dice.choice([None, None, NOW - 1, NOW, NOW + 1]),
            state=dice.choice(STATES),
        )
        for number in range(noise + dice.randint(1, 60))
    ]
    request = RecallRequest(
        agent_id="small",
        user_id=dice.choice([None, "ann"]),
        query=query or " ".join(dice.choices(WORDS, k=3)),
        k=dice.choice([1, 3, 10, 1000]),
        types=dice.choice([None, [MemoryType.SEMANTIC, MemoryType.EPISODIC]]),
        filter=dice.choice([None, {"n": {"$gte": 8}}]),
        fresher_than_days=dice.choice([None, 3]),
        fusion=dice.choice(list(Fusion)),
    )
    return World(states, request)


@pytest.mark.parametrize("seed", range(60))
async def test_recall_returns_exactly_what_is_visible_up_to_k(
    seed: int, store_url: Callable[[], str]
):
    world = a_world(seed)
    replica = open_replica(store_url(), workspace="w", embedder=EMBEDDER)
    await replica.put(world.states)
    response = await RecordStore(replica, EMBEDDER, clock=lambda: NOW).recall(world.request)
    visible = {state.record.id for state in world.visible()}
    recalled = [hit.id for hit in response.results]
    assert len(recalled) == len(set(recalled)) == min(world.request.k, len(visible))
    assert set(recalled) <= visible
    await replica.close()


@pytest.mark.parametrize("seed", range(40))
async def test_without_words_recall_is_the_nearest_by_brute_force(
    seed: int, store_url: Callable[[], str]
):
    # Punctuation has a vector but no words: the text leg stays silent. Episodes would raise
    # each other.
    world = a_world(seed, query="?!", kinds=[MemoryType.SEMANTIC, MemoryType.EMOTIONAL])
    replica = open_replica(store_url(), workspace="w", embedder=EMBEDDER)
    await replica.put(world.states)
    response = await RecordStore(replica, EMBEDDER, clock=lambda: NOW).recall(
        world.request.model_copy(update={"fusion": Fusion.MAX})
    )
    query = EMBEDDER.embed(["?!"])[0]
    by_hand = sorted(
        (float((1 + np.dot(state.vector, query)) / 2) for state in world.visible()), reverse=True
    )
    scores = [hit.score for hit in response.results]
    assert scores == pytest.approx(by_hand[: world.request.k], abs=1e-5)
    await replica.close()


async def test_five_thousand_near_twins_of_another_agent_change_nothing(
    store_url: Callable[[], str],
):
    replica = open_replica(store_url(), workspace="w", embedder=EMBEDDER)
    await replica.put(
        [
            a_state(f"n{number}", f"apple pie {number % 50}", agent_id="noisy")
            for number in range(5_000)
        ]
    )
    mine = [a_state(f"m{number}", f"apple pie of mine {number}") for number in range(5)]
    mine[3] = a_state("m3", "quiet", metadata={"rare": True})
    await replica.put(mine)
    store = RecordStore(replica, EMBEDDER, clock=lambda: NOW)
    everything = await store.recall(RecallRequest(agent_id="agent", query="apple pie", k=5))
    assert {hit.id for hit in everything.results} == {"m0", "m1", "m2", "m3", "m4"}
    rare = await store.recall(
        RecallRequest(agent_id="agent", query="apple pie", k=5, filter={"rare": True})
    )
    assert [hit.id for hit in rare.results] == ["m3"]
    await replica.close()
