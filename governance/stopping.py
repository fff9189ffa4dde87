"""Whether this process is on its way out: whoever waits for a person then waits no longer."""

import threading

_asked = threading.Event()


def ask() -> None:
    """Say that the process is to end."""
    _asked.set()


def is_asked() -> bool:
    return _asked.is_set()
