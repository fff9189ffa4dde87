"""The audit log: one row per affected memory or event, only ever added to."""

from django.db import models

from governance.models.access import Workspace
from governance.models.fields import EpochMsField, ExactJsonField
from governance.models.seal import SealKey


class AuditRow(models.Model):
    """Written in the change's own transaction, or the change does not happen.

    Actors, operations and memories are named by id and not by foreign key: nothing that happens
    to them may reach back into the log.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT)
    sequence = models.PositiveBigIntegerField()
    """1, 2, 3 … within the workspace, without gaps."""
    at_ms = EpochMsField()
    action = models.CharField(max_length=64)
    actor_kind = models.CharField(max_length=16)
    actor_id = models.CharField(max_length=64)
    actor_label = models.CharField(max_length=320)
    request_id = models.CharField(max_length=64, blank=True)
    agent_id = models.CharField(max_length=256, blank=True)
    operation_id = models.CharField(max_length=26, blank=True)
    review_id = models.CharField(max_length=26, blank=True)
    memory_id = models.CharField(max_length=128, blank=True)
    memory_version = models.PositiveIntegerField(null=True)
    state_digest = models.CharField(max_length=64, blank=True)
    """Keyed digest of the memory's whole state after the change."""
    facts = ExactJsonField(default=dict)
    """What is no secret: counts, names of rules, codes."""
    seal_key = models.ForeignKey(SealKey, on_delete=models.PROTECT, null=True)
    sealed = models.BinaryField(null=True)
    """The words: readable while the memory's key exists."""
    commitment = models.CharField(max_length=64, blank=True)
    """Salted digest of the sealed words; stays checkable as long as they do."""
    previous_mac = models.CharField(max_length=64)
    mac = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "sequence"], name="one_row_per_sequence"),
        ]
        indexes = [models.Index(fields=["memory_id", "memory_version"], name="audit_by_memory")]

    def __str__(self) -> str:
        return f"{self.sequence} {self.action}"


class AuditHead(models.Model):
    """Where a workspace's log ends. Locked while a row is added, and held against the last row."""

    workspace = models.OneToOneField(Workspace, on_delete=models.PROTECT, primary_key=True)
    sequence = models.PositiveBigIntegerField(default=0)
    mac = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"{self.workspace_id} at {self.sequence}"
