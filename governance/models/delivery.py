"""The outbox: which state of which memory each store should hold, and which it does."""

from django.db import models
from django.db.models import F, Q

from governance.models.access import Workspace
from governance.models.fields import EpochMsField
from governance.models.memory import Memory


class Delivery(models.Model):
    """One memory at one store. States are sent, so a newer wish overtakes an older one."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="deliveries")
    agent_id = models.CharField(max_length=256)
    store = models.CharField(max_length=128)
    wanted_version = models.PositiveIntegerField()
    delivered_version = models.PositiveIntegerField(default=0)
    delivered_at_ms = EpochMsField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    due_at_ms = EpochMsField()
    claim = models.CharField(max_length=26, blank=True)
    lease_expires_at_ms = EpochMsField(default=0)
    last_error = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["memory", "store"], name="one_delivery_per_store"),
        ]
        indexes = [
            models.Index(
                fields=["workspace", "agent_id"],
                condition=Q(delivered_version__lt=F("wanted_version")),
                name="delivery_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.memory_id} at {self.store}"
