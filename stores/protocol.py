"""What a store is, from both sides.

``MemoryStore`` is the protocol's interface with its five operations. ``Replica`` is the small part
an adapter supplies: it is sent *states* of memories and ranks them for a query. ``Embedder`` turns
text into vectors. Everything else is written once over these three.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from stores.wire import (
    ExpireRequest,
    ExpireResponse,
    ForgetRequest,
    ForgetResponse,
    MemoryRecord,
    MergeRequest,
    MergeResponse,
    RecallRequest,
    RecallResponse,
    RememberRequest,
    RememberResponse,
)

#: A unit-length float32 vector of shape ``(dimensions,)``.
Vector = npt.NDArray[np.float32]

#: The protocol's sentinel: ``deleted_at = -1`` is staged, waiting for a person.
PENDING_APPROVAL = -1


class Capability(StrEnum):
    """What a store can do, under the names the protocol uses."""

    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"
    EMOTIONAL = "emotional"
    FTS = "fts"
    VECTOR = "vector"
    GRAPH = "graph"
    GOVERNANCE = "governance"
    RECALL_TRACKING = "recall_tracking"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose memories a search may see, inside the workspace a replica was opened for.

    ``user_id`` None means every user of the agent.
    """

    agent_id: str
    user_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaRecord:
    """One memory's state as a replica holds it.

    ``version`` grows by one with every change of the memory. ``deleted_at`` is None (live),
    ``PENDING_APPROVAL`` or the epoch ms it was forgotten at; only live records may be found.
    """

    record: MemoryRecord
    version: int
    vector: Vector | None = None
    deleted_at: int | None = None
    archived_at: int | None = None
    demoted_at: int | None = None
    last_recalled_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory offered for a query. ``score`` is a similarity: finite, higher is better."""

    id: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Candidates best first, each id once.

    ``exhausted`` says that the replica has nothing more to offer for this scope, however large
    the limit.
    """

    candidates: Sequence[Candidate]
    exhausted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPage:
    """Some of what a replica holds, in a stable order; ``cursor`` None at the end."""

    records: Sequence[ReplicaRecord]
    cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether a replica answers. ``detail`` holds no content and no secrets."""

    ok: bool
    detail: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Embedder(Protocol):
    """Text to unit-length vectors. Calls are synchronous, thread-safe and may take milliseconds."""

    @property
    def model_id(self) -> str:
        """Names model and variant; vectors of two ids are never compared."""
        ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Returns one unit-length row per text, shape ``(len(texts), dimensions)``."""
        ...


@runtime_checkable
class Replica(Protocol):
    """One backend, opened for one workspace.

    Raises: StoreUnavailable (try again), StoreRefused (do not). Methods are coroutines of the loop
    the replica was opened on.
    """

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """A real set, available without a call to the backend."""
        ...

    async def put(self, records: Sequence[ReplicaRecord]) -> None:
        """Upsert by id, all or nothing. A version not newer than the one held is ignored."""
        ...

    async def erase(self, versions: Mapping[str, int]) -> None:
        """Take memories out, traces of their text included. Maps id to the version that erased it.

        Unknown ids are fine. The id and the number may stay, so that a late ``put`` of an older
        version is ignored; nothing else may.
        """
        ...

    async def drop(self, ids: Collection[str]) -> None:
        """Take rows out altogether, with what ``erase`` leaves: any version is taken again then.

        For repair only, by whoever knows the newest version.
        """
        ...

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
        """Rank live, unarchived records of the scope. ``within`` limits the search to these ids."""
        ...

    async def fetch(self, ids: Collection[str]) -> Sequence[ReplicaRecord]:
        """The records held under these ids, whatever their state; missing ones are left out."""
        ...

    async def scan(self, *, cursor: str | None = None, limit: int = 500) -> ScanPage:
        """Everything held for the workspace, by id, to compare with the ledger."""
        ...

    async def health(self) -> Health: ...

    async def close(self) -> None: ...


@runtime_checkable
class MemoryStore(Protocol):
    """The protocol's interface, section 4."""

    async def remember(self, req: RememberRequest) -> RememberResponse: ...
    async def recall(self, req: RecallRequest) -> RecallResponse: ...
    async def forget(self, req: ForgetRequest) -> ForgetResponse: ...
    async def merge(self, req: MergeRequest) -> MergeResponse: ...
    async def expire(self, req: ExpireRequest) -> ExpireResponse: ...
    async def health(self) -> dict[str, Any]: ...

    @property
    def capabilities(self) -> set[str]: ...
