"""What every call of an agent passes first, whatever the operation."""

import logging
from dataclasses import dataclass
from typing import Any

from governance import access, audit, execution, stores_runtime, walls
from governance.access import Principal
from governance.errors import FieldError, Invalid, NotAllowed, WrongEmbedder
from governance.models import Scope
from stores import filters
from stores.errors import EmbedderMismatch, StoreUnavailable

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Who asks, under which request id, and when."""

    principal: Principal
    request_id: str
    now_ms: int
    idempotency_key: str = ""

    @property
    def workspace_id(self) -> str:
        return self.principal.workspace_id

    @property
    def actor(self) -> audit.Actor:
        return audit.Actor(kind="key", id=self.principal.key_id, label=self.principal.key_label)


async def check(call: Call, scope: Scope, agent_id: str) -> None:
    """What must hold before an operation is even looked at.

    Raises: NotAllowed if the key is not good for this (the attempt is in the audit log);
    WrongEmbedder if the vectors kept and the model configured do not go together.
    """
    try:
        access.check_may(call.principal, scope, agent_id)
    except NotAllowed as refusal:
        await execution.write(_audit_refusal, call, scope, agent_id, refusal.code)
        raise
    try:
        await stores_runtime.ensure_open(call.workspace_id)
    except EmbedderMismatch as error:
        raise WrongEmbedder(str(error)) from error
    except StoreUnavailable as error:
        # Writes wait in the outbox and recall answers from the ledger until it is back.
        log.warning("a store could not be opened: %s", type(error).__name__)


def _audit_refusal(call: Call, scope: Scope, agent_id: str, code: str) -> None:
    walls.enter(call.workspace_id)
    entry = audit.Entry(
        action=f"{scope.value}.refused",
        actor=call.actor,
        request_id=call.request_id,
        agent_id=agent_id,
        facts={"code": code},
    )
    audit.append(call.workspace_id, [entry], now_ms=call.now_ms)


def parse_filter(raw: dict[str, Any] | None) -> filters.Filter | None:
    """A filter ready to be evaluated; None where nothing is asked.

    Raises: Invalid, naming what cannot be read: never wider than asked.
    """
    if not raw:
        return None
    try:
        return filters.parse(raw)
    except filters.FilterError as error:
        problem = FieldError(field="filter", code="filter_invalid", message=str(error))
        raise Invalid(str(error), code="filter_invalid", errors=(problem,)) from error
