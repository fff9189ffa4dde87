"""The ledger's tables. ``docs/architecture.md`` draws how they hang together."""

from governance.models.access import ApiKey, Membership, Role, Scope, User, Workspace
from governance.models.audit import AuditHead, AuditRow
from governance.models.delivery import Delivery
from governance.models.idempotency import IdempotencyKey
from governance.models.invitation import Invitation
from governance.models.memory import EndReason, Memory, MemoryVector, MemoryVersion
from governance.models.operation import Operation, OperationKind, OperationStatus
from governance.models.recalled import Recalled
from governance.models.review import Decision, Review, ReviewStatus, Risk, Verdict
from governance.models.rule import Effect, Rule, RuleVersion
from governance.models.seal import SealKey

__all__ = [
    "ApiKey",
    "AuditHead",
    "AuditRow",
    "Decision",
    "Delivery",
    "Effect",
    "EndReason",
    "IdempotencyKey",
    "Invitation",
    "Membership",
    "Memory",
    "MemoryVector",
    "MemoryVersion",
    "Operation",
    "OperationKind",
    "OperationStatus",
    "Recalled",
    "Review",
    "ReviewStatus",
    "Risk",
    "Role",
    "Rule",
    "RuleVersion",
    "Scope",
    "SealKey",
    "User",
    "Verdict",
    "Workspace",
]
