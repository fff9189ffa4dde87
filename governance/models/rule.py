"""Policy rules: which writes stop."""

from django.db import models

from governance.models.access import Workspace
from governance.models.fields import EpochMsField, ExactJsonField
from governance.models.operation import OperationKind
from stores.wire import MemoryType


class Effect(models.TextChoices):
    ALLOW = "allow"
    REVIEW = "review"
    DENY = "deny"


class RuleTerms(models.Model):
    """What a rule says, in the rule and in each of its versions.

    It matches a write when every condition that is set holds; an empty one holds always.
    """

    enabled = models.BooleanField(default=True)
    operation = models.CharField(max_length=16, choices=OperationKind, blank=True)
    type = models.CharField(
        max_length=16, choices=[(kind.value, kind.value) for kind in MemoryType], blank=True
    )
    agent_id = models.CharField(max_length=256, blank=True)
    user_id = models.CharField(max_length=256, blank=True)
    source = models.CharField(max_length=1024, blank=True)
    metadata = ExactJsonField(default=dict)
    """A filter as recall takes it, ``stores.filters``; empty: any memory."""
    confidence_below = models.FloatField(null=True)
    flag = models.CharField(max_length=32, blank=True)
    """The code of a detector, ``screening.FlagCode``."""
    effect = models.CharField(max_length=8, choices=Effect)

    class Meta:
        abstract = True


#: Names of the columns above, in a fixed order.
TERMS: tuple[str, ...] = tuple(field.name for field in RuleTerms._meta.local_fields)


class Rule(RuleTerms):
    """A rule as it is in force now. Only ``governance.rules`` changes it."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE)
    name = models.CharField(max_length=150)
    version = models.PositiveIntegerField(default=1)
    created_at_ms = EpochMsField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "name"], name="one_rule_a_name")
        ]

    def __str__(self) -> str:
        return f"{self.name} (version {self.version})"


class RuleVersion(RuleTerms):
    """What a rule said from one change to the next. A review names the one that stopped it."""

    rule = models.ForeignKey(Rule, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    changed_at_ms = EpochMsField()
    changed_by = models.CharField(max_length=320)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["rule", "number"], name="one_rule_version_per_number")
        ]

    def __str__(self) -> str:
        return f"{self.rule_id} version {self.number}"
