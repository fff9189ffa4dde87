"""Doubles: an embedder without a model, and a replica that misbehaves on purpose."""

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from stores.errors import StoreUnavailable
from stores.protocol import (
    Capability,
    Health,
    Replica,
    ReplicaRecord,
    ScanPage,
    Scope,
    SearchResult,
    Vector,
)
from stores.words import index_text

Result = TypeVar("Result")


class HashEmbedder:
    """Every word has a random but fixed direction; a text points where its words do together.

    So texts that share words are similar, equal texts are equal, and nothing is understood.
    """

    def __init__(self, dimensions: int = 64, *, model_id: str = "hash") -> None:
        self.dimensions = dimensions
        self.model_id = model_id
        self._directions: dict[str, npt.NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.stack([self._embed_one(text) for text in texts])

    def _embed_one(self, text: str) -> npt.NDArray[np.float32]:
        # A text without words still needs a direction.
        words = index_text(text).split() or [text]
        total = np.sum([self._direction(word) for word in words], axis=0)
        unit: npt.NDArray[np.float32] = (total / np.linalg.norm(total)).astype(np.float32)
        return unit

    def _direction(self, word: str) -> npt.NDArray[np.float32]:
        if word not in self._directions:
            seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
            direction = np.random.default_rng(seed).standard_normal(self.dimensions)
            self._directions[word] = direction.astype(np.float32)
        return self._directions[word]


class Fault(StrEnum):
    NONE = "none"
    FAIL = "fail"  # the call never reaches the store
    LOSE_REPLY = "lose reply"  # the store does it, and the caller does not learn so
    HANG = "hang"  # no answer, until the caller gives up


class FlakyReplica:
    """Another replica behind a bad line: each call meets the next fault, and none when they end."""

    def __init__(self, inner: Replica, faults: Iterable[Fault]) -> None:
        self._inner = inner
        self._faults: Iterator[Fault] = iter(faults)

    @classmethod
    def seeded(cls, inner: Replica, *, seed: int, rate: float = 0.3) -> "FlakyReplica":
        """A share of ``rate`` of the calls fails or loses its reply, the same ones for a seed."""
        dice = random.Random(seed)  # noqa: S311 - faults need no secrecy

        def faults() -> Iterator[Fault]:
            while True:
                is_faulty = dice.random() < rate
                yield dice.choice([Fault.FAIL, Fault.LOSE_REPLY]) if is_faulty else Fault.NONE

        return cls(inner, faults())

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self._inner.capabilities

    async def put(self, records: Sequence[ReplicaRecord]) -> None:
        await self._through(lambda: self._inner.put(records))

    async def erase(self, versions: Mapping[str, int]) -> None:
        await self._through(lambda: self._inner.erase(versions))

    async def drop(self, ids: Collection[str]) -> None:
        await self._through(lambda: self._inner.drop(ids))

    async def search(
        self,
        scope: Scope,
        *,
        text: str,
        vector: Vector | None,
        limit: int,
        within: Collection[str] | None = None,
        exclude: Collection[str] = (),
    ) -> SearchResult:
        return await self._through(
            lambda: self._inner.search(
                scope, text=text, vector=vector, limit=limit, within=within, exclude=exclude
            )
        )

    async def fetch(self, ids: Collection[str]) -> Sequence[ReplicaRecord]:
        return await self._through(lambda: self._inner.fetch(ids))

    async def scan(self, *, cursor: str | None = None, limit: int = 500) -> ScanPage:
        return await self._through(lambda: self._inner.scan(cursor=cursor, limit=limit))

    async def health(self) -> Health:
        return await self._through(self._inner.health)

    async def close(self) -> None:
        await self._inner.close()

    async def _through(self, call: Callable[[], Awaitable[Result]]) -> Result:
        fault = next(self._faults, Fault.NONE)
        if fault is Fault.FAIL:
            raise StoreUnavailable("flaky: refused the connection")
        if fault is Fault.HANG:
            await asyncio.Event().wait()
        result = await call()
        if fault is Fault.LOSE_REPLY:
            raise StoreUnavailable("flaky: the connection broke after the request was sent")
        return result
