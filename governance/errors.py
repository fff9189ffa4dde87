"""Everything the server refuses, each with a stable code, mapped once to problem+json.

GovernanceError
├── NotAuthenticated      401  no key, or one that is unknown, expired or revoked
├── NotAllowed            403  the key or person may not do this
│   └── SelfApproval      403  whoever proposed cannot approve
├── Denied                403  a policy rule denies the write
├── NotFound              404  missing, or not theirs: answered alike
├── MethodNotAllowed      405  the address is there, for other methods
├── BadRequest            400  the request cannot be read
├── Invalid               422  the request can be read and is wrong
├── Conflict              409
│   ├── AlreadyDecided    409  somebody was first; says who and when
│   └── StaleProposal     409  what would be changed is no longer what was shown
├── TooManyCalls          429  the key called more often than it may
├── WrongEmbedder         503  vectors and model do not go together
    └── LedgerBusy            503  try again
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldError:
    """One field that is wrong: where (dotted path), why, under which code."""

    field: str
    code: str
    message: str


class GovernanceError(Exception):
    """Base of the tree. ``code`` is stable; ``next_step`` says what the caller can do."""

    status = 500
    code = "internal"
    title = "Something went wrong here"
    next_step = "Try again; if it happens again, report the request id."

    def __init__(
        self, detail: str = "", *, code: str | None = None, errors: tuple[FieldError, ...] = ()
    ) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.title
        self.errors = errors
        if code is not None:
            self.code = code


class NotAuthenticated(GovernanceError):
    status = 401
    code = "not_authenticated"
    title = "A valid API key is needed"
    next_step = (
        "Send 'Authorization: Bearer mw_...' with a key that is neither expired nor revoked."
    )


class NotAllowed(GovernanceError):
    status = 403
    code = "not_allowed"
    title = "This is not allowed"
    next_step = "Ask an administrator of the workspace for the right."


class SelfApproval(NotAllowed):
    code = "self_approval"
    title = "Whoever proposed a change cannot approve it"
    next_step = "Ask another reviewer of the workspace."


class Denied(GovernanceError):
    status = 403
    code = "denied_by_policy"
    title = "A policy rule denies this write"
    next_step = "Do not try again unchanged; ask an administrator about the rule."


class NotFound(GovernanceError):
    status = 404
    code = "not_found"
    title = "There is no such thing here"
    next_step = "Check the id; what belongs to others is answered the same way."


class BadRequest(GovernanceError):
    status = 400
    code = "bad_request"
    title = "The request cannot be read"
    next_step = "Correct the request; it will fail again unchanged."


class Invalid(GovernanceError):
    status = 422
    code = "invalid"
    title = "The request is not valid"
    next_step = "Correct the named fields; nothing was stored."


class BodyTooLarge(GovernanceError):
    status = 413
    code = "body_too_large"
    title = "The request is too large"
    next_step = "Send less at once; docs/protocol.md lists the limits."


class Conflict(GovernanceError):
    status = 409
    code = "conflict"
    title = "This conflicts with what happened meanwhile"
    next_step = "Read the current state and decide anew."


class AlreadyDecided(Conflict):
    code = "already_decided"
    title = "This proposal was already decided"
    next_step = "Nothing to do: read the decision."


class StaleProposal(Conflict):
    code = "stale_proposal"
    title = "What this proposal would change is no longer what was shown"
    next_step = "Look at the fresh diff and decide on that."


class InFlight(Conflict):
    code = "request_in_flight"
    title = "The first request with this Idempotency-Key is not finished"
    next_step = "Send the same request again in a few seconds."


class KeyReused(Invalid):
    code = "idempotency_key_reused"
    title = "This Idempotency-Key was used for another request"
    next_step = "Use a new key for a new request."


class MethodNotAllowed(GovernanceError):
    status = 405
    code = "method_not_allowed"
    title = "This address does not take that method"
    next_step = "Use a method that the header Allow names; /v0/openapi.json lists them."


class TooManyCalls(GovernanceError):
    status = 429
    code = "too_many_calls"
    title = "This key has made all the calls it may make in this minute"
    next_step = "Wait for as many seconds as the header Retry-After says; nothing was stored."


class WrongEmbedder(GovernanceError):
    status = 503
    code = "embedder_mismatch"
    title = "The vectors kept here were made by another embedder than the one configured"
    next_step = "An administrator must configure that model again, or run 'manage.py reembed'."


class LedgerBusy(GovernanceError):
    status = 503
    code = "ledger_busy"
    title = "The ledger is busy"
    next_step = "Try again in a second; nothing was stored."
