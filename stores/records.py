"""The five operations, written once over any replica.

``RecordStore`` is the protocol's ``MemoryStore`` for use as a library. It turns operations into
states of memories and checks at read time what a replica offers: a record that is expired, filtered
out or staged never reaches an answer, whatever the replica ranked.

Staging: a write with ``approval_required`` is kept with ``deleted_at = -1`` and answered
``pending_approval: true`` until ``approve`` or ``reject``. Forgetting and merging have no record of
their own to stage, so their proposals live as long as this object does.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ulid import ULID

from stores import expiry, filters, fusion, merging, procedures
from stores.protocol import (
    PENDING_APPROVAL,
    Candidate,
    Capability,
    Embedder,
    Replica,
    ReplicaRecord,
    Scope,
    Vector,
)
from stores.states import States, following
from stores.wire import (
    ExpireAction,
    ExpireRequest,
    ExpireResponse,
    ForgetRequest,
    ForgetResponse,
    MemoryRecord,
    MemoryType,
    MergeRequest,
    MergeResponse,
    MergeStrategy,
    RecallHit,
    RecallRequest,
    RecallResponse,
    RememberRequest,
    RememberResponse,
    StoreOutcome,
)

#: What the protocol multiplies a demoted memory's score by.
DEMOTED_SCORE: Final = 0.25
#: Policies count recalls in days, so noting each of them more often would only cost writes.
RECALL_NOTED_EVERY_MS: Final = 3_600_000

Clock = Callable[[], int]


class MergeRefused(ValueError):
    """A named memory is missing, ambiguous, repeated or of another user: nothing changed."""


class IdTaken(ValueError):
    """The id that a new memory brought along is in use."""


class NotStaged(ValueError):
    """Nothing with this id is waiting for a decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A forget or merge that waits for a decision."""

    id: str
    request: ForgetRequest | MergeRequest


def epoch_ms() -> int:
    return time.time_ns() // 1_000_000


def new_ulid() -> str:
    return str(ULID())


class RecordStore:
    """A ``MemoryStore`` over one replica.

    Args:
        clock: now, in epoch milliseconds.
        new_id: makes the ids of new memories and proposals.
    Raises, from every operation: ValueError (and its subclasses FilterError, IdTaken, MergeRefused,
        NotStaged, ProcedureError) for a request that cannot be done, StoreUnavailable,
        StoreRefused.
    """

    def __init__(
        self,
        replica: Replica,
        embedder: Embedder,
        *,
        clock: Clock = epoch_ms,
        new_id: Callable[[], str] = new_ulid,
    ) -> None:
        self._replica = replica
        self._states = States(replica)
        self._embedder = embedder
        self._clock = clock
        self._new_id = new_id
        self._proposals: dict[str, Proposal] = {}

    @property
    def capabilities(self) -> set[str]:
        return {*self._replica.capabilities, Capability.RECALL_TRACKING, Capability.GOVERNANCE}

    async def health(self) -> dict[str, Any]:
        health = await self._replica.health()
        return {"ok": health.ok, "store": self._replica.name, **health.detail}

    # --- remember --------------------------------------------------------------------------------

    async def remember(self, req: RememberRequest) -> RememberResponse:
        """A request that brings its ``id`` keeps it, and its ``created_at``.

        Raises: IdTaken.
        """
        _check_content(req.type, req.content)
        now = self._clock()
        if req.id is not None and await self._replica.fetch([req.id]):
            raise IdTaken(f"{req.id!r} is the id of another memory: nothing was stored")
        record = MemoryRecord(
            id=req.id or self._new_id(),
            created_at=now if req.created_at is None else req.created_at,
            updated_at=now,
            **{name: getattr(req, name) for name in _REMEMBERED},
        )
        state = ReplicaRecord(
            record=record,
            version=1,
            vector=await self._embed(record.content),
            deleted_at=PENDING_APPROVAL if req.approval_required else None,
        )
        await self._replica.put([state])
        return self._remembered(state)

    def _remembered(self, state: ReplicaRecord) -> RememberResponse:
        is_pending = state.deleted_at == PENDING_APPROVAL
        return RememberResponse(
            id=state.record.id,
            stored_at=state.record.updated_at,
            stores=[] if is_pending else [self._replica.name],
            pending_approval=is_pending,
        )

    # --- recall ----------------------------------------------------------------------------------

    async def recall(self, req: RecallRequest) -> RecallResponse:
        now = self._clock()
        is_wanted = _wanted(req, now=now)
        vector = await self._embed(req.query)
        ranked, states = await self._rank(req, vector, is_wanted)
        scores = {
            candidate.id: candidate.score * _multiplier(states[candidate.id])
            for candidate in fusion.fuse(req.fusion, {self._replica.name: ranked})
        }
        best = fusion.in_order(scores)[: req.k]
        await self._note_recall([states[candidate.id] for candidate in best], now=now)
        return RecallResponse(
            results=[self._hit(candidate, states[candidate.id].record) for candidate in best],
            fusion_used=req.fusion,
            stores_queried=[self._replica.name],
            latency_ms=max(0, self._clock() - now),
        )

    async def _rank(
        self, req: RecallRequest, vector: Vector, is_wanted: Callable[[ReplicaRecord], bool]
    ) -> tuple[list[Candidate], dict[str, ReplicaRecord]]:
        """The wanted candidates best first, asking for more until there are enough or no more.

        Enough are ``k`` that are not demoted: whatever lies further down scores less than each.
        """
        scope = Scope(agent_id=req.agent_id, user_id=req.user_id)
        states: dict[str, ReplicaRecord] = {}
        limit = 2 * req.k
        while True:
            found = await self._replica.search(scope, text=req.query, vector=vector, limit=limit)
            unseen = [c.id for c in found.candidates if c.id not in states]
            states |= {state.record.id: state for state in await self._replica.fetch(unseen)}
            ranked = [c for c in found.candidates if c.id in states and is_wanted(states[c.id])]
            strong = sum(1 for c in ranked if states[c.id].demoted_at is None)
            # A list that is not full is the last one too, even if the replica does not say so.
            if strong >= req.k or found.exhausted or len(found.candidates) < limit:
                return ranked, states
            limit *= 4

    def _hit(self, candidate: Candidate, record: MemoryRecord) -> RecallHit:
        return RecallHit(
            id=record.id,
            type=record.type,
            content=procedures.as_answered(record.type, record.content),
            score=candidate.score,
            metadata=record.metadata,
            created_at=record.created_at,
            source_store=self._replica.name,
        )

    async def _note_recall(self, states: Iterable[ReplicaRecord], *, now: int) -> None:
        stale = [state.record.id for state in states if _recall_is_worth_noting(state, now=now)]
        if stale:
            await self._states.update(stale, lambda state: replace(state, last_recalled_at=now))

    # --- forget ----------------------------------------------------------------------------------

    async def forget(self, req: ForgetRequest) -> ForgetResponse:
        """Unknown ids, and ids of another agent or user, are not forgotten and not listed.

        Soft forgetting reaches live memories. A hard delete also takes staged and already
        forgotten ones, since those still hold their text.
        """
        condition = filters.parse(req.filter) if req.filter else None
        if req.approval_required:
            self._propose(req)
            return self._forgot(req, [], is_pending=True)
        targets = [
            state
            async for state in self._addressed(req, condition)
            if req.hard_delete or state.deleted_at is None
        ]
        if req.hard_delete:
            await self._states.erase([state.record.id for state in targets])
        else:
            targets = await self._retire([state.record.id for state in targets])
        return self._forgot(req, [state.record.id for state in targets])

    async def _addressed(
        self, req: ForgetRequest, condition: filters.Filter | None
    ) -> AsyncIterator[ReplicaRecord]:
        """The union of what the ids and the filter name, within the request's agent and user."""
        ids = set(req.ids or ())
        states = (
            self._states.of_agent(req.agent_id)
            if condition
            else self._states.of_ids(ids, agent_id=req.agent_id)
        )
        async for state in states:
            is_in_scope = req.user_id is None or state.record.user_id == req.user_id
            is_named = state.record.id in ids
            if is_in_scope and (
                is_named or (condition is not None and filters.matches(condition, state.record))
            ):
                yield state

    async def _retire(self, ids: Collection[str]) -> list[ReplicaRecord]:
        now = self._clock()
        return await self._states.update(
            ids, lambda state: replace(state, deleted_at=now) if state.deleted_at is None else None
        )

    def _forgot(
        self, req: ForgetRequest, ids: list[str], *, is_pending: bool = False
    ) -> ForgetResponse:
        outcome = StoreOutcome(store=self._replica.name, count=len(ids))
        return ForgetResponse(
            forgotten_ids=ids,
            hard_delete=req.hard_delete,
            stores=[] if is_pending else [outcome],
            pending_approval=is_pending,
        )

    # --- merge -----------------------------------------------------------------------------------

    async def merge(self, req: MergeRequest) -> MergeResponse:
        """Merge whole or not at all.

        Raises: MergeRefused.
        """
        async with self._states.changing:
            canonical, *duplicates = await self._named(
                req.agent_id, [req.canonical, *req.duplicates], now=self._clock()
            )
            if req.approval_required:
                self._propose(req)
                return _merged(req, count=0, stores=[])
            survivor = await self._survivor(canonical, duplicates, strategy=req.strategy)
            dropped = [following(replace(state, deleted_at=self._clock())) for state in duplicates]
            await self._states.write_together([*survivor, *dropped])
        return _merged(req, count=len(duplicates), stores=[self._replica.name])

    async def _survivor(
        self,
        canonical: ReplicaRecord,
        duplicates: Sequence[ReplicaRecord],
        *,
        strategy: MergeStrategy,
    ) -> list[ReplicaRecord]:
        """The canonical's next state, or nothing if the merge leaves it as it is."""
        record = merging.merge(
            canonical.record,
            [state.record for state in duplicates],
            strategy=strategy,
            now=self._clock(),
        )
        if record == canonical.record:
            return []
        _check_content(record.type, record.content)
        vector = await self._embed(record.content)
        return [following(replace(canonical, record=record, vector=vector))]

    async def _named(
        self, agent_id: str, references: Sequence[str], *, now: int
    ) -> list[ReplicaRecord]:
        """The live memories the references name, by id or else by entity name, in their order."""
        by_id = {
            state.record.id: state
            async for state in self._states.of_ids(references, agent_id=agent_id)
            if _is_live(state, now=now)
        }
        names = {reference for reference in references if reference not in by_id}
        by_name = await self._by_entity_name(agent_id, names, now=now) if names else {}
        states = [by_id.get(reference) or by_name[reference] for reference in references]
        if len({state.record.id for state in states}) != len(states):
            raise MergeRefused("the same memory is named twice: nothing was merged")
        if len({state.record.user_id for state in states}) != 1:
            raise MergeRefused("the memories belong to different users: nothing was merged")
        return states

    async def _by_entity_name(
        self, agent_id: str, names: set[str], *, now: int
    ) -> dict[str, ReplicaRecord]:
        found: dict[str, ReplicaRecord] = {}
        async for state in self._states.of_agent(agent_id):
            if not _is_live(state, now=now):
                continue
            for name in _entity_names(state.record) & names:
                if name in found:
                    raise MergeRefused(f"{name!r} names several memories: nothing was merged")
                found[name] = state
        for name in sorted(names - found.keys()):
            raise MergeRefused(f"{name!r} is not a memory of this agent: nothing was merged")
        return found

    # --- expire ----------------------------------------------------------------------------------

    async def expire(self, req: ExpireRequest) -> ExpireResponse:
        """Act on every live memory of the agent that the policy covers and the action changes."""
        now = self._clock()
        matched = [
            state.record.id
            async for state in self._states.of_agent(req.agent_id)
            if _policy_acts_on(req, state, now=now)
        ]
        changed = await self._states.update(
            matched,
            lambda state: (
                _acted_on(req.action, state, now=now)
                if _policy_acts_on(req, state, now=now)
                else None
            ),
        )
        return ExpireResponse(
            matched_count=len(changed), action_taken=req.action, stores=[self._replica.name]
        )

    # --- staging ---------------------------------------------------------------------------------

    @property
    def proposals(self) -> Sequence[Proposal]:
        """Forgets and merges waiting for a decision, oldest first."""
        return tuple(self._proposals.values())

    async def approve(self, staged_id: str) -> RememberResponse | ForgetResponse | MergeResponse:
        """Commit a staged memory, or do a proposed forget or merge.

        Raises: NotStaged.
        """
        proposal = self._proposals.get(staged_id)
        if proposal is None:
            return self._remembered(await self._decide(staged_id, deleted_at=None))
        request = proposal.request.model_copy(update={"approval_required": False})
        if isinstance(request, ForgetRequest):
            response: ForgetResponse | MergeResponse = await self.forget(request)
        else:
            response = await self.merge(request)
        # Only now, so that a store that was down can be asked again.
        self._proposals.pop(staged_id, None)
        return response

    async def reject(self, staged_id: str) -> None:
        """Drop a staged memory or a proposal.

        Raises: NotStaged.
        """
        if self._proposals.pop(staged_id, None) is None:
            await self._decide(staged_id, deleted_at=self._clock())

    def _propose(self, request: ForgetRequest | MergeRequest) -> None:
        proposal = Proposal(id=self._new_id(), request=request)
        self._proposals[proposal.id] = proposal

    async def _decide(self, staged_id: str, *, deleted_at: int | None) -> ReplicaRecord:
        decided = await self._states.update(
            [staged_id],
            lambda state: (
                replace(state, deleted_at=deleted_at)
                if state.deleted_at == PENDING_APPROVAL
                else None
            ),
        )
        if not decided:
            raise NotStaged(f"{staged_id!r} is not waiting for a decision")
        return decided[0]

    async def _embed(self, text: str) -> Vector:
        vectors = await asyncio.to_thread(self._embedder.embed, [text])
        vector: Vector = vectors[0]
        return vector


_REMEMBERED: Final = (
    "agent_id",
    "user_id",
    "type",
    "content",
    "metadata",
    "confidence",
    "source",
    "expires_at",
)


def _check_content(memory_type: MemoryType, content: str) -> None:
    if memory_type is MemoryType.PROCEDURAL:
        procedures.parse(content)


def _wanted(req: RecallRequest, *, now: int) -> Callable[[ReplicaRecord], bool]:
    """Whether a recall may return a state, as one question. Raises: FilterError."""
    condition = filters.parse(req.filter or {})

    def is_wanted(state: ReplicaRecord) -> bool:
        record = state.record
        return (
            _is_live(state, now=now)
            and state.archived_at is None
            and record.agent_id == req.agent_id
            and (req.user_id is None or record.user_id == req.user_id)
            and (req.types is None or record.type in req.types)
            and expiry.is_fresh(record.created_at, within_days=req.fresher_than_days, now=now)
            and filters.matches(condition, record)
        )

    return is_wanted


def _is_live(state: ReplicaRecord, *, now: int) -> bool:
    return state.deleted_at is None and not expiry.has_lapsed(state.record.expires_at, now=now)


def _multiplier(state: ReplicaRecord) -> float:
    return 1.0 if state.demoted_at is None else DEMOTED_SCORE


def _recall_is_worth_noting(state: ReplicaRecord, *, now: int) -> bool:
    noted_at = state.last_recalled_at
    return noted_at is None or now - noted_at >= RECALL_NOTED_EVERY_MS


def _acted_on(action: ExpireAction, state: ReplicaRecord, *, now: int) -> ReplicaRecord:
    match action:
        case ExpireAction.FORGET:
            return replace(state, deleted_at=now)
        case ExpireAction.ARCHIVE:
            return replace(state, archived_at=state.archived_at or now)
        case ExpireAction.DEMOTE:
            return replace(state, demoted_at=state.demoted_at or now)


def _policy_acts_on(req: ExpireRequest, state: ReplicaRecord, *, now: int) -> bool:
    return (
        state.deleted_at is None
        and _acted_on(req.action, state, now=now) != state
        and expiry.falls_under(
            req.policy,
            memory_type=state.record.type,
            confidence=state.record.confidence,
            created_at=state.record.created_at,
            last_recalled_at=state.last_recalled_at,
            now=now,
        )
    )


def _entity_names(record: MemoryRecord) -> set[str]:
    names = (record.metadata.get("entity_name"), record.metadata.get("entity"))
    return {name for name in names if isinstance(name, str)}


def _merged(req: MergeRequest, *, count: int, stores: list[str]) -> MergeResponse:
    return MergeResponse(
        canonical=req.canonical,
        merged_count=count,
        strategy_used=req.strategy,
        stores=stores,
        pending_approval=req.approval_required,
    )
