"""From a store's URL to an open replica. An adapter is imported only when its URL is used.

| URL                                 | store                                           |
|-------------------------------------|-------------------------------------------------|
| ``sqlite-vec:///absolute/path``     | an SQLite file; created if it is missing        |
| ``sqlite-vec://relative/path``      | the same, from the working directory            |
| ``pgvector://user:pw@host:port/db`` | PostgreSQL; ``?schema=name`` keeps stores apart |
| ``memory://name``                   | a dictionary that lives as long as it is open   |
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from stores.errors import MissingExtra, StoreRefused, UnknownStore
from stores.protocol import Embedder, Replica

Opener = Callable[[str, str, Embedder], Replica]


def open_replica(url: str, *, workspace: str, embedder: Embedder) -> Replica:
    """Open the store for one workspace.

    Raises: UnknownStore, StoreRefused (EmbedderMismatch among them), StoreUnavailable.
    """
    scheme, separator, place = url.partition("://")
    opener = _OPENERS.get(scheme) if separator else None
    if opener is None:
        # Only the scheme is repeated: the rest of a URL may hold a password.
        raise UnknownStore(f"no store answers to {scheme!r}; known are {', '.join(_OPENERS)}")
    return opener(place, workspace, embedder)


def discard(url: str) -> None:
    """Throw away everything a store holds, so that it can be filled anew by another embedder.

    For a store nobody has open. Raises: UnknownStore; StoreRefused if it cannot be done by URL.
    """
    scheme, _, place = url.partition("://")
    if scheme == "sqlite-vec":
        for suffix in ("", "-wal", "-shm"):
            Path(place + suffix).unlink(missing_ok=True)
    elif scheme == "pgvector":
        with _extra("pgvector", "grown"):
            from stores.adapters.pgvector import address, discard

        discard(address.parse(place))
    elif scheme != "memory":  # that one is gone with its process anyway
        raise UnknownStore(f"no store answers to {scheme!r}; known are {', '.join(_OPENERS)}")


def _open_sqlite_vec(place: str, workspace: str, embedder: Embedder) -> Replica:
    from stores.adapters.sqlite_vec import SqliteVecReplica

    if not place:
        raise StoreRefused("sqlite-vec: the URL names no file")
    return SqliteVecReplica(Path(place), workspace=workspace, embedder=embedder)


def _open_pgvector(place: str, workspace: str, embedder: Embedder) -> Replica:
    with _extra("pgvector", "grown"):
        from stores.adapters.pgvector import PgvectorReplica, address

    return PgvectorReplica(address.parse(place), workspace=workspace, embedder=embedder)


@contextmanager
def _extra(store: str, extra: str) -> Iterator[None]:
    """Say what to install if an adapter's software is missing.

    Raises: MissingExtra.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"{store}: the package {error.name!r} is not installed:"
            f" pip install 'memorywire-governance[{extra}]'"
        ) from error


def _open_in_memory(place: str, workspace: str, embedder: Embedder) -> Replica:
    from stores.adapters.in_memory import InMemoryReplica

    return InMemoryReplica(place or "memory")


_OPENERS: Final[Mapping[str, Opener]] = {
    "sqlite-vec": _open_sqlite_vec,
    "pgvector": _open_pgvector,
    "memory": _open_in_memory,
}
