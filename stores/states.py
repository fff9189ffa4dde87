"""The states of memories in one replica: read in pages, changed without losing a race."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

from stores.errors import StoreUnavailable
from stores.protocol import Replica, ReplicaRecord

ATTEMPTS: Final = 5

#: From a state to the one it should become, or None to leave it alone.
Change = Callable[[ReplicaRecord], ReplicaRecord | None]


class States:
    """Reads and changes states of one replica.

    A replica silently ignores a version it already holds, and another process may have taken it. So
    whatever is written here is read back.
    """

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        # One change at a time in this process: each reads states and writes their next version.
        self.changing = asyncio.Lock()

    async def of_ids(self, ids: Collection[str], *, agent_id: str) -> AsyncIterator[ReplicaRecord]:
        """Those of the ids that are held and the agent's, whatever their state."""
        for state in await self._replica.fetch(ids):
            if state.record.agent_id == agent_id:
                yield state

    async def of_agent(self, agent_id: str) -> AsyncIterator[ReplicaRecord]:
        """Everything held of the agent. Reads the whole workspace, page by page."""
        cursor: str | None = None
        while True:
            page = await self._replica.scan(cursor=cursor)
            for state in page.records:
                if state.record.agent_id == agent_id:
                    yield state
            cursor = page.cursor
            if cursor is None:
                return

    async def update(self, ids: Collection[str], change: Change) -> list[ReplicaRecord]:
        """Give each held state its next version; returns those that ``change`` did not leave alone.

        A change that lost to another writer is made again on the winner's state.

        Raises: StoreUnavailable if it keeps losing.
        """
        done: list[ReplicaRecord] = []
        waiting = set(ids)
        async with self.changing:
            for _ in range(ATTEMPTS):
                held = await self._replica.fetch(waiting)
                changed = [following(new) for state in held if (new := change(state)) is not None]
                waiting = await self._put(changed)
                done += [state for state in changed if state.record.id not in waiting]
                if not waiting:
                    return done
        raise StoreUnavailable("other writers keep changing these memories")

    async def erase(self, ids: Collection[str]) -> None:
        """Take memories out for good. Repeating it after a failure also removes their traces.

        Raises: StoreUnavailable if another process keeps writing them.
        """
        async with self.changing:
            for _ in range(ATTEMPTS):
                held = await self._replica.fetch(ids)
                # With nothing held it still removes the traces an earlier attempt had to leave.
                await self._replica.erase({s.record.id: s.version + 1 for s in held})
                if not held:
                    return
        raise StoreUnavailable("other writers keep changing these memories")

    async def write_together(self, states: Sequence[ReplicaRecord]) -> None:
        """Write states that belong together. Hold ``changing`` from reading them to here.

        Raises: StoreUnavailable if another process changed one of them meanwhile.
        """
        if await self._put(states):
            raise StoreUnavailable("another writer changed these memories meanwhile: try again")

    async def _put(self, states: Sequence[ReplicaRecord]) -> set[str]:
        """Returns the ids whose version another writer had taken."""
        if not states:
            return set()
        await self._replica.put(states)
        held = await self._replica.fetch([state.record.id for state in states])
        kept = {state.record.id: _facts(state) for state in held}
        return {s.record.id for s in states if kept.get(s.record.id) != _facts(s)}


def following(state: ReplicaRecord) -> ReplicaRecord:
    """The same state under the next version."""
    return replace(state, version=state.version + 1)


def _facts(state: ReplicaRecord) -> ReplicaRecord:
    # Arrays do not compare to one truth value, and the text decides the vector anyway.
    return replace(state, vector=None)
