"""What was asked of the server, and what came of it."""

from django.db import models

from governance.ids import new_id
from governance.models.access import ApiKey, User, Workspace
from governance.models.fields import EpochMsField
from governance.models.seal import SealKey


class OperationKind(models.TextChoices):
    REMEMBER = "remember"
    FORGET = "forget"
    MERGE = "merge"
    EXPIRE = "expire"


class OperationStatus(models.TextChoices):
    PENDING = "pending"
    APPLIED = "applied"
    REJECTED = "rejected"
    DENIED = "denied"


class Operation(models.Model):
    """One request that would change memories. Its text is sealed."""

    id = models.CharField(primary_key=True, max_length=26, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE)
    kind = models.CharField(max_length=16, choices=OperationKind)
    status = models.CharField(max_length=16, choices=OperationStatus)
    agent_id = models.CharField(max_length=256)
    user_id = models.CharField(max_length=256, null=True)  # noqa: DJ001  absent is not empty
    api_key = models.ForeignKey(ApiKey, on_delete=models.PROTECT, null=True)
    """The key that asked; null when the server itself did (a sweep)."""
    proposer = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    """The key's owner when it asked."""
    seal_key = models.ForeignKey(SealKey, on_delete=models.PROTECT)
    sealed_request = models.BinaryField()
    request_id = models.CharField(max_length=64, blank=True)
    created_at_ms = EpochMsField()
    finished_at_ms = EpochMsField(null=True)

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"
