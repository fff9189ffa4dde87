"""Reviews and decisions: what waits for a person, and what the person said."""

from django.db import models
from django.db.models import Q

from governance.ids import new_id
from governance.models.access import User, Workspace
from governance.models.fields import EpochMsField, ExactJsonField
from governance.models.operation import Operation


class ReviewStatus(models.TextChoices):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"


class Risk(models.IntegerChoices):
    """How much care a proposal needs. The queue is ordered by it, then by age."""

    HIGH = 1, "high"
    MEDIUM = 2, "medium"
    LOW = 3, "low"


class Review(models.Model):
    """A proposal: a staged operation that waits for a person."""

    id = models.CharField(primary_key=True, max_length=26, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE)
    operation = models.OneToOneField(Operation, on_delete=models.PROTECT, related_name="review")
    status = models.CharField(max_length=16, choices=ReviewStatus, default=ReviewStatus.PENDING)
    reasons = ExactJsonField(default=list)
    """Why it was stopped, each ``{"kind": "rule", "rule": name, "version": n}`` or
    ``{"kind": "agent"}``."""
    targets = ExactJsonField(default=list)
    """What it would change: ``[{"id": memory id, "version": n}]``."""
    # Whatever was staged before this column was there counts as needing the most care.
    risk = models.PositiveSmallIntegerField(choices=Risk, default=Risk.HIGH)
    flags = ExactJsonField(default=list)
    """What screening found when it was staged: ``FlagCode`` values."""
    fingerprint = models.CharField(max_length=64)
    """Keyed digest of what was asked: an identical proposal is returned, not made again."""
    created_at_ms = EpochMsField()
    decided_at_ms = EpochMsField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "fingerprint"],
                condition=Q(status="pending"),
                name="one_pending_review_per_proposal",
            ),
        ]
        indexes = [
            models.Index(
                fields=["workspace", "status", "risk", "created_at_ms"], name="review_by_risk"
            ),
        ]

    def __str__(self) -> str:
        return self.id


class Verdict(models.TextChoices):
    APPROVE = "approve"
    REJECT = "reject"


class Decision(models.Model):
    """What one person said about one review, never changed."""

    review = models.ForeignKey(Review, on_delete=models.PROTECT, related_name="decisions")
    person = models.ForeignKey(User, on_delete=models.PROTECT)
    verdict = models.CharField(max_length=8, choices=Verdict)
    reason = models.TextField(blank=True)
    decided_at_ms = EpochMsField()

    def __str__(self) -> str:
        return f"{self.verdict} {self.review_id}"
