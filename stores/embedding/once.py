"""Load a model at its first use, once, whichever thread comes first."""

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """Calls ``make`` at the first ``get`` and keeps its answer.

    Threads that arrive meanwhile wait for it. A ``make`` that raises is called again next time.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = Lock()
        self._made: list[T] = []  # empty, or the one answer: None may be an answer too

    def get(self) -> T:
        with self._lock:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]
