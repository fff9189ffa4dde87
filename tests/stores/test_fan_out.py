"""Asking several stores at once: none holds up or spoils the others."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from stores.breaker import Breaker, State
from stores.errors import StoreRefused, StoreUnavailable
from stores.fan_out import Answer, FanOut, Outcome

Call = Callable[[], Awaitable[str]]
LONG_SECONDS = 30.0
SHORT_SECONDS = 0.05


async def answers_well() -> str:
    return "well"


async def never_answers() -> str:
    await asyncio.Event().wait()
    raise AssertionError


async def ignores_being_cancelled() -> str:
    while True:
        try:
            await asyncio.sleep(LONG_SECONDS)
        except asyncio.CancelledError:
            if asyncio.current_task().cancelling() > 1:  # type: ignore[union-attr]
                raise  # the end of the test


def raises(error: Exception) -> Call:
    async def call() -> str:
        raise error

    return call


def raises_at_once() -> Awaitable[str]:
    raise RuntimeError("before anything was awaited")


async def outcomes(fan_out: FanOut, budget: float = SHORT_SECONDS, **calls: Call) -> dict[str, str]:
    answers = await fan_out.ask(calls, budget_seconds=budget)
    return {answer.store: answer.outcome for answer in answers}


async def test_everyone_gets_an_answer_that_says_what_happened():
    assert await outcomes(
        FanOut(),
        good=answers_well,
        down=raises(StoreUnavailable("x")),
        no=raises(StoreRefused("x")),
        wrong=raises(ValueError("x")),
        bug=raises(RuntimeError("x")),
        early=raises_at_once,
        hangs=never_answers,
    ) == {
        "good": Outcome.ANSWERED,
        "down": Outcome.FAILED,
        "no": Outcome.REFUSED,
        "wrong": Outcome.REFUSED,
        "bug": Outcome.FAILED,
        "early": Outcome.FAILED,
        "hangs": Outcome.TIMED_OUT,
    }


async def test_a_store_that_ignores_being_cancelled_is_not_waited_for():
    fan_out = FanOut()
    async with asyncio.timeout(LONG_SECONDS / 2):
        got = await outcomes(fan_out, deaf=ignores_being_cancelled, good=answers_well)
    assert got == {"deaf": Outcome.TIMED_OUT, "good": Outcome.ANSWERED}
    for task in fan_out._abandoned:
        task.cancel()


async def test_all_are_asked_at_the_same_time():
    met = asyncio.Barrier(3)

    async def meets() -> str:
        await met.wait()
        return "met"

    got = await outcomes(FanOut(), budget=LONG_SECONDS, a=meets, b=meets, c=meets)
    assert set(got.values()) == {Outcome.ANSWERED}


async def test_each_store_has_a_budget_of_its_own():
    async def slow() -> str:
        await asyncio.sleep(SHORT_SECONDS * 4)
        return "slow"

    answers = await FanOut().ask(
        {"patient": slow, "hasty": slow},
        budget_seconds={"patient": LONG_SECONDS, "hasty": SHORT_SECONDS},
    )
    assert [answer.outcome for answer in answers] == [Outcome.ANSWERED, Outcome.TIMED_OUT]


async def test_a_store_that_keeps_failing_rests_and_comes_back():
    now = 0.0
    fan_out = FanOut(
        new_breaker=lambda: Breaker(failures_to_open=2, rest_seconds=10, clock=lambda: now)
    )
    down = raises(StoreUnavailable("x"))
    for _ in range(2):
        assert await outcomes(fan_out, a=down) == {"a": Outcome.FAILED}
    assert await outcomes(fan_out, a=answers_well) == {"a": Outcome.RESTING}
    now = 10.0
    assert await outcomes(fan_out, a=answers_well) == {"a": Outcome.ANSWERED}
    assert fan_out.breaker("a").state is State.CLOSED


async def test_a_refusal_is_an_answer_and_opens_nothing():
    fan_out = FanOut(new_breaker=lambda: Breaker(failures_to_open=1))
    for _ in range(3):
        assert await outcomes(fan_out, a=raises(StoreRefused("x"))) == {"a": Outcome.REFUSED}


async def test_who_stops_waiting_stops_the_calls_and_teaches_the_breaker_nothing():
    fan_out = FanOut(new_breaker=lambda: Breaker(failures_to_open=1))
    ended = asyncio.Event()

    async def notices() -> str:
        try:
            return await never_answers()
        finally:
            ended.set()

    asking = asyncio.create_task(outcomes(fan_out, budget=LONG_SECONDS, a=notices))
    await asyncio.sleep(SHORT_SECONDS)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.wait_for(ended.wait(), LONG_SECONDS)
    assert fan_out.breaker("a").state is State.CLOSED


def test_a_reason_holds_no_content():
    error = StoreUnavailable("my secret")
    answer: Answer[str] = Answer(store="a", outcome=Outcome.FAILED, seconds=0.1, error=error)
    assert answer.reason() == "StoreUnavailable"
