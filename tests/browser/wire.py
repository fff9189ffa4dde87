"""The cable between a browser and the server, for a test to cut with all that goes over it."""

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CHUNK = 65_536


class Wire:
    """Listens on ``port`` and passes every byte on to the server's, both ways, until cut."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._is_cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cut(self) -> None:
        """End every connection; new ones are closed as soon as they are made."""
        with self._lock:
            self._is_cut = True
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        with self._lock:
            self._is_cut = False

    def close(self) -> None:
        self.cut()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._carry, args=(near,), daemon=True).start()

    def _carry(self, near: socket.socket) -> None:
        with (
            near,
            suppress(OSError),
            socket.create_connection(("127.0.0.1", self._server_port)) as far,
        ):
            with self._lock:
                if self._is_cut:
                    return
                self._open |= {near, far}
            try:
                _pass_on(near, far)
            finally:
                with self._lock:
                    self._open -= {near, far}


def _pass_on(near: socket.socket, far: socket.socket) -> None:
    """Until either end says no more."""
    with selectors.DefaultSelector() as selector:
        selector.register(near, selectors.EVENT_READ, far)
        selector.register(far, selectors.EVENT_READ, near)
        while True:
            for key, _ in selector.select():
                data = key.fileobj.recv(_CHUNK)  # type: ignore[union-attr]
                if not data:
                    return
                key.data.sendall(data)


@contextmanager
def wired(server_port: int) -> Iterator[Wire]:
    wire = Wire(server_port)
    try:
        yield wire
    finally:
        wire.close()
