"""Asking several stores at once, none of them able to hold up or spoil the others.

    fan_out = FanOut()
    answers = await fan_out.ask(
        {replica.name: lambda replica=replica: replica.search(...) for replica in replicas},
        budget_seconds=2.0,
    )

Each store has its time, after which it is no longer waited for, and its breaker, so that one that
keeps failing is not asked at all for a while. Every store has an answer that says what happened.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from stores.breaker import Breaker, Monotonic
from stores.errors import StoreRefused, StoreUnavailable

log = logging.getLogger(__name__)

Result = TypeVar("Result")


class Outcome(StrEnum):
    ANSWERED = "answered"
    REFUSED = "refused"  # it answered that it will not do this
    FAILED = "failed"
    TIMED_OUT = "timed out"  # asked, and no longer waited for: it may still have done it
    RESTING = "resting"  # not asked: it failed too often a moment ago


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[Result]):
    """What became of one store's call. ``seconds`` is how long it was waited for."""

    store: str
    outcome: Outcome
    seconds: float
    value: Result | None = None
    error: Exception | None = None

    @property
    def was_asked(self) -> bool:
        return self.outcome is not Outcome.RESTING

    @property
    def is_answered(self) -> bool:
        return self.outcome is Outcome.ANSWERED

    def reason(self) -> str:
        """The failure in a word, without content: what a report or a log line may hold."""
        is_outcome_enough = self.outcome in (Outcome.TIMED_OUT, Outcome.RESTING)
        return self.outcome if is_outcome_enough else type(self.error).__name__


class FanOut:
    """Asks stores by name and remembers how each behaved. For one event loop.

    Args:
        new_breaker: makes the breaker of a store that is asked for the first time.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        *,
        new_breaker: Callable[[], Breaker] = Breaker,
        clock: Monotonic = time.monotonic,
    ) -> None:
        self._new_breaker = new_breaker
        self._clock = clock
        self._breakers: dict[str, Breaker] = {}
        self._abandoned: set[asyncio.Future[object]] = set()

    def breaker(self, store: str) -> Breaker:
        if store not in self._breakers:
            self._breakers[store] = self._new_breaker()
        return self._breakers[store]

    async def ask(
        self,
        calls: Mapping[str, Callable[[], Awaitable[Result]]],
        *,
        budget_seconds: float | Mapping[str, float],
    ) -> list[Answer[Result]]:
        """Make every call at once; returns one answer per store, in the order of ``calls``.

        Args:
            budget_seconds: for each store, or the same for all.
        """
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(
                    self._ask_one(
                        store,
                        call,
                        budget_seconds
                        if isinstance(budget_seconds, int | float)
                        else budget_seconds[store],
                    )
                )
                for store, call in calls.items()
            ]
        return [task.result() for task in tasks]

    async def _ask_one(
        self, store: str, call: Callable[[], Awaitable[Result]], budget_seconds: float
    ) -> Answer[Result]:
        breaker = self.breaker(store)
        if not breaker.admits():
            return Answer(store=store, outcome=Outcome.RESTING, seconds=0.0)
        started = self._clock()
        try:
            answer = await self._within(budget_seconds, store, call, started)
        except asyncio.CancelledError:
            breaker.gave_up()
            raise
        if answer.outcome in (Outcome.ANSWERED, Outcome.REFUSED):
            breaker.succeeded()
        else:
            breaker.failed()
            log.warning("store %s: %s", store, answer.reason(), exc_info=_unexpected(answer.error))
        return answer

    async def _within(
        self,
        budget_seconds: float,
        store: str,
        call: Callable[[], Awaitable[Result]],
        started: float,
    ) -> Answer[Result]:
        task = asyncio.ensure_future(_called(call))
        try:
            await asyncio.wait({task}, timeout=budget_seconds)
        except asyncio.CancelledError:
            self._abandon(task)
            raise
        seconds = self._clock() - started
        if not task.done():
            self._abandon(task)
            return Answer(store=store, outcome=Outcome.TIMED_OUT, seconds=seconds)
        if task.cancelled():
            error: BaseException | None = StoreUnavailable("the store's call was cancelled")
        else:
            error = task.exception()
        if error is None:
            return Answer(
                store=store, outcome=Outcome.ANSWERED, seconds=seconds, value=task.result()
            )
        if not isinstance(error, Exception):
            raise error  # an interrupt or the like is nobody's answer
        refuses = isinstance(error, StoreRefused | ValueError)
        return Answer(
            store=store,
            outcome=Outcome.REFUSED if refuses else Outcome.FAILED,
            seconds=seconds,
            error=error,
        )

    def _abandon(self, task: "asyncio.Future[Result]") -> None:
        """Cancel a call and wait no more, as a store may ignore that too."""
        task.cancel()
        # The loop keeps weak references only; and an error nobody asks for would be complained of.
        abandoned: asyncio.Future[object] = task  # type: ignore[assignment]
        self._abandoned.add(abandoned)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        abandoned.add_done_callback(self._abandoned.discard)


async def _called(call: Callable[[], Awaitable[Result]]) -> Result:
    # Inside of the task, so that a call that fails before it awaits is an answer too.
    return await call()


def _unexpected(error: Exception | None) -> Exception | None:
    """What deserves a traceback in the log: errors that no adapter should let through."""
    is_expected = error is None or isinstance(error, StoreUnavailable | TimeoutError | OSError)
    return None if is_expected else error
