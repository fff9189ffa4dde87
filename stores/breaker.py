"""A circuit breaker: a store that keeps failing is left alone for a while, then tried once.

closed ──failures in a row──▶ open ──after a rest──▶ half open ──answer──▶ closed
                               ▲                          │
                               └────────failure───────────┘
"""

import time
from collections.abc import Callable
from enum import StrEnum
from typing import Final

FAILURES_TO_OPEN: Final = 5
REST_SECONDS: Final = 30.0

#: Seconds that only ever grow.
Monotonic = Callable[[], float]


class State(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half open"


class Breaker:
    """Says whether a store may be asked, from how it answered before.

    Whoever was admitted reports ``succeeded``, ``failed`` or ``gave_up``.

    Args:
        failures_to_open: so many failures in a row open it.
        rest_seconds: how long it then stays open.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        *,
        failures_to_open: int = FAILURES_TO_OPEN,
        rest_seconds: float = REST_SECONDS,
        clock: Monotonic = time.monotonic,
    ) -> None:
        if failures_to_open < 1:
            raise ValueError("failures_to_open must be at least 1")
        self._failures_to_open = failures_to_open
        self._rest_seconds = rest_seconds
        self._clock = clock
        self._failures = 0
        self._opened_at: float | None = None
        self._is_probing = False

    @property
    def state(self) -> State:
        if self._opened_at is None:
            return State.CLOSED
        is_rested = self._clock() - self._opened_at >= self._rest_seconds
        return State.HALF_OPEN if is_rested else State.OPEN

    def admits(self) -> bool:
        """Whether to ask now. Half open, only the first who asks is admitted: the probe."""
        match self.state:
            case State.CLOSED:
                return True
            case State.OPEN:
                return False
            case State.HALF_OPEN:
                if self._is_probing:
                    return False
                self._is_probing = True
                return True

    def succeeded(self) -> None:
        """It answered, if only to say that it refuses."""
        self._failures = 0
        self._opened_at = None
        self._is_probing = False

    def failed(self) -> None:
        self._failures += 1
        # A failed probe starts the rest anew; so does whoever was asked before it opened.
        if self._failures >= self._failures_to_open:
            self._opened_at = self._clock()
        self._is_probing = False

    def gave_up(self) -> None:
        """Nobody waited for the answer, so nothing was learnt; the next one may probe."""
        self._is_probing = False
