"""Many memory stores as one. A router is a ``MemoryStore`` too, so routers nest.

    store = Router([Member(name="fast", store=a), Member(name="big", store=b, weight=0.5)])

Every memory has one id everywhere: the router makes it, and a child keeps it (``RecordStore`` does;
a child that answers with another id counts as failed). So agreement between stores is seen, and a
forget by id reaches every copy.

One store that is down, slow or wrong is never fatal while another answers: what it missed is said
in the answer (``stores``, ``stores_queried``, ``forget.stores[].error``) and in ``last_answers``.
The router keeps nothing of its own: a store that missed a write goes on missing it. Where that
matters, put the ledger's outbox in front, as the server does.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Generic, Protocol, TypeVar, runtime_checkable

from stores import fusion
from stores.errors import StoreRefused, StoreUnavailable
from stores.fan_out import Answer, FanOut
from stores.protocol import Candidate, Capability, MemoryStore
from stores.records import Clock, epoch_ms, new_ulid
from stores.wire import (
    ExpireRequest,
    ExpireResponse,
    ForgetRequest,
    ForgetResponse,
    MergeRequest,
    MergeResponse,
    RecallHit,
    RecallRequest,
    RecallResponse,
    RememberRequest,
    RememberResponse,
    StoreOutcome,
)

RECALL_SECONDS: Final = 2.0
WRITE_SECONDS: Final = 10.0

Result = TypeVar("Result")


class WritePolicy(StrEnum):
    """Which stores a remember goes to. Forget, merge and expire always reach all."""

    ALL = "all"
    PRIMARY_ONLY = "primary_only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One child. The first of a router is its primary.

    ``weight`` counts for ``weighted`` fusion only. Seconds are how long it is waited for.
    """

    name: str
    store: MemoryStore
    weight: float = 1.0
    recall_seconds: float = RECALL_SECONDS
    write_seconds: float = WRITE_SECONDS


@runtime_checkable
class Staging(Protocol):
    """A store whose staged memories are decided on by id."""

    async def approve(self, staged_id: str) -> Any: ...
    async def reject(self, staged_id: str) -> None: ...


def _write_seconds(member: Member) -> float:
    return member.write_seconds


class Router:
    """A ``MemoryStore`` over others.

    Args:
        members: at least one, the primary first, each with a name of its own.
        writes: where a remember goes.
        fan_out: hands in breakers and a clock.
        clock: now, in epoch milliseconds.
        new_id: makes the ids of new memories.
    Raises, from every operation: StoreUnavailable if no store answered; ValueError if they
        answered that the request cannot be done; StoreRefused if none can do it.
    """

    def __init__(
        self,
        members: Sequence[Member],
        *,
        writes: WritePolicy = WritePolicy.ALL,
        fan_out: FanOut | None = None,
        clock: Clock = epoch_ms,
        new_id: Callable[[], str] = new_ulid,
    ) -> None:
        names = [member.name for member in members]
        if not names or len(set(names)) != len(names):
            raise ValueError("a router needs at least one member, each with a name of its own")
        self._members = {member.name: member for member in members}
        self._primary = names[0]
        self._writes = writes
        self._fan_out = fan_out or FanOut()
        self._clock = clock
        self._new_id = new_id
        self._last_answers: Sequence[Answer[Any]] = ()

    @property
    def capabilities(self) -> set[str]:
        """What at least one child can do."""
        return set().union(*(member.store.capabilities for member in self._members.values()))

    @property
    def last_answers(self) -> Sequence[Answer[Any]]:
        """How each store that the last operation concerned behaved: for health and debugging."""
        return self._last_answers

    async def health(self) -> dict[str, Any]:
        """``ok`` while one store answers; each store's own words under its name."""
        answers = await self._fan_out.ask(
            {name: member.store.health for name, member in self._members.items()},
            budget_seconds={name: m.recall_seconds for name, m in self._members.items()},
        )
        stores = {
            answer.store: answer.value or {"ok": False, "error": answer.reason()}
            for answer in answers
        }
        return {"ok": any(health.get("ok") for health in stores.values()), "stores": stores}

    # --- the five operations ---------------------------------------------------------------------

    async def remember(self, req: RememberRequest) -> RememberResponse:
        """Write under one id to every store that keeps such memories, or to the primary."""
        request = req.model_copy(
            update={"id": req.id or self._new_id(), "created_at": req.created_at or self._clock()}
        )
        targets = self._able(req.type.value)
        if self._writes is WritePolicy.PRIMARY_ONLY:
            targets = [member for member in targets if member.name == self._primary]

        async def write(member: Member) -> RememberResponse:
            response = await member.store.remember(request)
            if response.id != request.id:
                raise StoreRefused(f"{member.name}: keeps an id of its own")
            return response

        done = (await self._ask(targets, write)).done
        return RememberResponse(
            id=str(request.id),
            stored_at=min(answer.stored_at for answer in done.values()),
            stores=self._named({name: answer.stores for name, answer in done.items()}),
            pending_approval=any(answer.pending_approval for answer in done.values()),
        )

    async def recall(self, req: RecallRequest) -> RecallResponse:
        """Ask every store for its k best and fuse them.

        Not for more than k: what a store hands out counts as recalled there.
        """
        started = time.perf_counter()
        asked = await self._ask(
            self._everyone,
            lambda member: member.store.recall(req),
            seconds=lambda member: member.recall_seconds,
        )
        done = asked.done
        rankings = {
            name: [Candidate(id=hit.id, score=hit.score) for hit in answer.results]
            for name, answer in done.items()
        }
        fused = fusion.fuse(
            req.fusion,
            rankings,
            weights={name: member.weight for name, member in self._members.items()},
        )
        offers = _offers(done)
        return RecallResponse(
            results=[self._hit(found, offers[found.id]) for found in fused[: req.k]],
            fusion_used=req.fusion,
            stores_queried=self._named({n: answer.stores_queried for n, answer in done.items()}),
            latency_ms=int((time.perf_counter() - started) * 1000),
        )

    async def forget(self, req: ForgetRequest) -> ForgetResponse:
        asked = await self._ask(self._everyone, lambda m: m.store.forget(req))
        outcomes = [outcome for answer in asked.answers for outcome in self._outcomes(answer)]
        return ForgetResponse(
            forgotten_ids=list(
                dict.fromkeys(i for done in asked.done.values() for i in done.forgotten_ids)
            ),
            hard_delete=req.hard_delete,
            stores=outcomes,
            pending_approval=any(done.pending_approval for done in asked.done.values()),
        )

    async def merge(self, req: MergeRequest) -> MergeResponse:
        asked = await self._ask(self._everyone, lambda m: m.store.merge(req))
        done = asked.done
        first = next(iter(done.values()))
        return MergeResponse(
            canonical=first.canonical,
            merged_count=max(answer.merged_count for answer in done.values()),
            strategy_used=first.strategy_used,
            stores=self._named({name: answer.stores for name, answer in done.items()}),
            pending_approval=any(answer.pending_approval for answer in done.values()),
        )

    async def expire(self, req: ExpireRequest) -> ExpireResponse:
        needed = [Capability.RECALL_TRACKING] if req.policy.no_recall_in_days is not None else []
        asked = await self._ask(self._able(*needed), lambda m: m.store.expire(req))
        done = asked.done
        return ExpireResponse(
            # The stores hold the same memories: the one that holds most has seen them all.
            matched_count=max(answer.matched_count for answer in done.values()),
            action_taken=req.action,
            stores=self._named({name: answer.stores for name, answer in done.items()}),
        )

    # --- staging ---------------------------------------------------------------------------------

    async def approve(self, staged_id: str) -> None:
        """Commit a staged memory in every store. Forgets and merges are decided in the children.

        Raises: NotStaged if no store has it.
        """
        await self._decide(lambda store: store.approve(staged_id))

    async def reject(self, staged_id: str) -> None:
        """Drop a staged memory in every store. Raises: NotStaged."""
        await self._decide(lambda store: store.reject(staged_id))

    async def _decide(self, decide: Callable[[Staging], Awaitable[Any]]) -> None:
        async def on(member: Member) -> bool:
            if not isinstance(member.store, Staging):
                raise StoreRefused(f"{member.name}: stages nothing")
            await decide(member.store)
            return True

        await self._ask(self._everyone, on)

    # --- asking ----------------------------------------------------------------------------------

    @property
    def _everyone(self) -> list[Member]:
        return list(self._members.values())

    def _able(self, *capabilities: str) -> list[Member]:
        return [m for m in self._everyone if m.store.capabilities.issuperset(capabilities)]

    async def _ask(
        self,
        members: Sequence[Member],
        call: Callable[[Member], Awaitable[Result]],
        *,
        seconds: Callable[[Member], float] = _write_seconds,
    ) -> "_Round[Result]":
        """Ask these members at once; at least one answered."""
        if not members:
            raise StoreRefused("no store of this router can do that")
        answers = await self._fan_out.ask(
            {member.name: _bound(call, member) for member in members},
            budget_seconds={member.name: seconds(member) for member in members},
        )
        self._last_answers = answers
        asked = _Round(answers=answers)
        if not asked.done:
            _raise_for(answers)
        return asked

    def _named(self, stores: dict[str, list[str]]) -> list[str]:
        """Which stores did it, by the names this router knows; ``child/store`` inside of one."""
        return [name for child, inner in stores.items() for name in self._inside(child, inner)]

    def _inside(self, child: str, inner: Sequence[str]) -> list[str]:
        if isinstance(self._members[child].store, Router):
            return [f"{child}/{name}" for name in inner]
        # A child that did nothing yet (a staged write) names no store, and neither do we.
        return [child] if inner else []

    def _outcomes(self, answer: Answer[ForgetResponse]) -> list[StoreOutcome]:
        response = answer.value
        if response is None:
            return [StoreOutcome(store=answer.store, count=0, error=answer.reason())]
        is_nested = isinstance(self._members[answer.store].store, Router)
        return [
            outcome.model_copy(
                update={"store": f"{answer.store}/{outcome.store}" if is_nested else answer.store}
            )
            for outcome in response.stores
        ]

    def _hit(self, found: Candidate, offers: dict[str, RecallHit]) -> RecallHit:
        first = next(iter(offers.values()))
        names = self._named({name: [hit.source_store] for name, hit in offers.items()})
        return first.model_copy(
            update={
                "score": found.score,
                "source_store": names[0],
                "stores": names,
                "supporting": list(dict.fromkeys(i for h in offers.values() for i in h.supporting)),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Round(Generic[Result]):
    """What became of asking some members at once."""

    answers: Sequence[Answer[Result]]

    @property
    def done(self) -> dict[str, Result]:
        """The results of those that answered, by name, the primary first."""
        return {a.store: a.value for a in self.answers if a.is_answered and a.value is not None}


def _offers(done: dict[str, RecallResponse]) -> dict[str, dict[str, RecallHit]]:
    """Per memory the stores that offered it, each with its hit; the primary's is first."""
    offers: dict[str, dict[str, RecallHit]] = {}
    for name, answer in done.items():
        for hit in answer.results:
            offers.setdefault(hit.id, {}).setdefault(name, hit)
    return offers


def _raise_for(answers: Sequence[Answer[Any]]) -> None:
    """When nobody did it: what the request got wrong, else what the stores did.

    Raises: ValueError, StoreRefused, StoreUnavailable.
    """
    for kind in (ValueError, StoreRefused):
        for answer in answers:
            if isinstance(answer.error, kind):
                raise answer.error
    said = ", ".join(f"{answer.store}: {answer.reason()}" for answer in answers)
    raise StoreUnavailable(f"no store answered ({said})") from next(
        (answer.error for answer in answers if answer.error), None
    )


def _bound(
    call: Callable[[Member], Awaitable[Result]], member: Member
) -> Callable[[], Awaitable[Result]]:
    return lambda: call(member)
