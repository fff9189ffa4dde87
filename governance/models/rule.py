"""Policy rules: which writes stop."""

from django.db import models

from governance.models.access import Workspace
from governance.models.fields import EpochMsField
from governance.models.operation import OperationKind
from stores.wire import MemoryType


class Effect(models.TextChoices):
    ALLOW = "allow"
    REVIEW = "review"
    DENY = "deny"


class Rule(models.Model):
    """Matches a write when every condition that is set holds; an empty one holds always."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE)
    name = models.CharField(max_length=150)
    version = models.PositiveIntegerField(default=1)
    enabled = models.BooleanField(default=True)
    operation = models.CharField(max_length=16, choices=OperationKind, blank=True)
    type = models.CharField(
        max_length=16, choices=[(kind.value, kind.value) for kind in MemoryType], blank=True
    )
    source = models.CharField(max_length=1024, blank=True)
    effect = models.CharField(max_length=8, choices=Effect)
    created_at_ms = EpochMsField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "name"], name="one_rule_a_name")
        ]

    def __str__(self) -> str:
        return f"{self.name} (version {self.version})"
