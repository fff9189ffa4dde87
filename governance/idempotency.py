"""A request sent twice under one Idempotency-Key has one effect and one answer."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from governance import execution, sealing
from governance.errors import Conflict, InFlight, KeyReused
from governance.gate import Call
from governance.models import IdempotencyKey, Operation
from stores.wire import WireRequest

WAIT_SECONDS = 10
_POLL_SECONDS = 0.05
_ABANDONED_AFTER_MS = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One use of a key: whose, for which request."""

    workspace_id: str
    owner_id: int
    key: str
    asked: dict[str, Any]
    now_ms: int

    @classmethod
    def of(cls, call: Call, kind: str, request: WireRequest) -> "Claim":
        return cls(
            workspace_id=call.workspace_id,
            owner_id=call.principal.owner_id,
            key=call.idempotency_key,
            asked={"kind": kind, "request": request.model_dump(mode="json")},
            now_ms=call.now_ms,
        )

    def digest(self) -> str:
        """What tells this request from another. Needs the ledger: not on a loop."""
        return sealing.workspace_digest(self.workspace_id, self.asked)


def find(claim: Claim) -> bool:
    """Whether the key was used before, for this very request. One query.

    Raises: KeyReused if it was used for another.
    """
    row = _row(claim)
    if row is not None and row.request_digest != claim.digest():
        raise KeyReused
    return row is not None


def keep(claim: Claim, operation_id: str, answer: dict[str, Any], *, is_final: bool) -> None:
    """Keep an answer, first as it stands at the commit, then as it was given."""
    operation = Operation.objects.select_related("seal_key").get(pk=operation_id)
    key = sealing.data_key(operation.seal_key)
    if key is None:
        return  # erased meanwhile: there is nothing to keep it under, and that is meant
    IdempotencyKey.objects.update_or_create(
        workspace_id=claim.workspace_id,
        owner_id=claim.owner_id,
        key=claim.key,
        defaults={
            "request_digest": claim.digest(),
            "operation": operation,
            "sealed_answer": key.seal(answer).ciphertext,
            "is_final": is_final,
            "created_at_ms": claim.now_ms,
        },
    )


async def answer_to(claim: Claim) -> dict[str, Any]:
    """The answer the first request got, once it has got it.

    Raises: InFlight if that takes too long; Conflict if its words were erased since.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    while (answer := await execution.read(_kept, claim)) is None:
        if time.monotonic() > deadline:
            raise InFlight
        await asyncio.sleep(_POLL_SECONDS)
    return answer


def _kept(claim: Claim) -> dict[str, Any] | None:
    row = _row(claim)
    if row is None:
        return None
    abandoned = claim.now_ms - row.created_at_ms > _ABANDONED_AFTER_MS
    if not row.is_final and not abandoned:
        return None
    key = sealing.data_key(row.operation.seal_key)
    if key is None:
        raise Conflict("The words of this request were erased; its answer went with them.")
    return dict(key.open(bytes(row.sealed_answer)))


def _row(claim: Claim) -> IdempotencyKey | None:
    return (
        IdempotencyKey.objects.filter(
            workspace_id=claim.workspace_id, owner_id=claim.owner_id, key=claim.key
        )
        .select_related("operation__seal_key")
        .first()
    )
