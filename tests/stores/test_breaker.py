"""The circuit breaker, with time as the test says."""

import pytest

from stores.breaker import Breaker, State


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(failures_to_open=3, rest_seconds=10, clock=clock)


def fail(breaker: Breaker, times: int) -> None:
    for _ in range(times):
        assert breaker.admits()
        breaker.failed()


def test_it_opens_after_failures_in_a_row(breaker: Breaker):
    fail(breaker, 2)
    assert breaker.state is State.CLOSED
    breaker.succeeded()
    fail(breaker, 2)
    assert breaker.state is State.CLOSED
    fail(breaker, 1)
    assert breaker.state is State.OPEN
    assert not breaker.admits()


def test_after_its_rest_it_admits_one_probe(breaker: Breaker, clock: Clock):
    fail(breaker, 3)
    clock.seconds = 9.9
    assert not breaker.admits()
    clock.seconds = 10
    assert breaker.state is State.HALF_OPEN
    assert [breaker.admits() for _ in range(3)] == [True, False, False]
    breaker.succeeded()
    assert breaker.state is State.CLOSED
    fail(breaker, 2)
    assert breaker.state is State.CLOSED


def test_a_failed_probe_starts_the_rest_anew(breaker: Breaker, clock: Clock):
    fail(breaker, 3)
    clock.seconds = 10
    fail(breaker, 1)
    clock.seconds = 19.9
    assert not breaker.admits()
    clock.seconds = 20
    assert breaker.admits()


def test_a_probe_that_nobody_waited_for_makes_way_for_the_next(breaker: Breaker, clock: Clock):
    fail(breaker, 3)
    clock.seconds = 10
    assert breaker.admits()
    breaker.gave_up()
    assert breaker.admits()


def test_it_needs_at_least_one_failure():
    with pytest.raises(ValueError, match="at least 1"):
        Breaker(failures_to_open=0)
