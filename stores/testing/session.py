"""What a conformance scenario is, and the short forms it speaks in.

A scenario gets a factory of stores and opens a fresh one. It asserts through the five operations
only, so it also holds for a store that is reached over HTTP. What a store cannot be asked to do in
a test (such as moving its clock) raises ``Unsupported``: skip the scenario then.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol

from stores.protocol import Capability, MemoryStore
from stores.wire import (
    ExpireRequest,
    ExpireResponse,
    ForgetRequest,
    ForgetResponse,
    MergeRequest,
    MergeResponse,
    RecallHit,
    RecallRequest,
    RememberRequest,
    RememberResponse,
)

AGENT: Final = "agent"


class Unsupported(Exception):
    """The store cannot be put into the situation this scenario is about."""


class StoreUnderTest(Protocol):
    """A store with the handles a test needs beside the five operations."""

    @property
    def store(self) -> MemoryStore: ...

    async def approve(self, memory_id: str) -> None:
        """Decide on a staged memory as a reviewer would."""
        ...

    async def reject(self, memory_id: str) -> None: ...

    async def pass_time(self, ms: int) -> None:
        """Let so many milliseconds go by for the store."""
        ...


StoreFactory = Callable[[], AbstractAsyncContextManager[StoreUnderTest]]
Scenario = Callable[[StoreFactory], Awaitable[None]]

SCENARIOS: Final[list[Scenario]] = []


class Session:
    """One store under test, with the operations in short form.

    The agent is ``AGENT`` and the type semantic unless a scenario says otherwise.
    """

    def __init__(self, under_test: StoreUnderTest) -> None:
        self._store = under_test.store
        self.approve = under_test.approve
        self.reject = under_test.reject
        self.pass_time = under_test.pass_time

    def needs(self, *capabilities: Capability) -> None:
        missing = set(capabilities) - self._store.capabilities
        if missing:
            raise Unsupported(", ".join(sorted(missing)))

    async def write(self, content: str, **fields: Any) -> RememberResponse:
        request = {"agent_id": AGENT, "type": "semantic", "content": content} | fields
        return await self._store.remember(RememberRequest(**request))

    async def remember(self, content: str, **fields: Any) -> str:
        return (await self.write(content, **fields)).id

    async def hits(self, query: str, **fields: Any) -> list[RecallHit]:
        request = {"agent_id": AGENT, "query": query} | fields
        return (await self._store.recall(RecallRequest(**request))).results

    async def recall(self, query: str, **fields: Any) -> list[Any]:
        return [hit.content for hit in await self.hits(query, **fields)]

    async def forget(self, **fields: Any) -> ForgetResponse:
        return await self._store.forget(ForgetRequest(**({"agent_id": AGENT} | fields)))

    async def merge(self, canonical: str, *duplicates: str, **fields: Any) -> MergeResponse:
        request = {"agent_id": AGENT, "canonical": canonical, "duplicates": list(duplicates)}
        return await self._store.merge(MergeRequest(**(request | fields)))

    async def expire(self, action: str = "forget", **policy: Any) -> ExpireResponse:
        return await self._store.expire(
            ExpireRequest.model_validate({"agent_id": AGENT, "policy": policy, "action": action})
        )


def scenario(body: Callable[[Session], Awaitable[None]]) -> Scenario:
    """Register a scenario; it is given a session with a fresh store."""

    async def run(factory: StoreFactory) -> None:
        async with factory() as under_test:
            await body(Session(under_test))

    run.__name__ = body.__name__
    run.__doc__ = body.__doc__
    SCENARIOS.append(run)
    return run


async def refuses(call: Awaitable[Any]) -> str:
    """Assert that a call is refused as wrong, and return what the refusal says."""
    try:
        await call
    except ValueError as error:
        return str(error)
    raise AssertionError("should have been refused")
