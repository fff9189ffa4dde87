"""Requests that may be sent again: which key was used for what, and the answer it got."""

from django.db import models

from governance.models.access import User, Workspace
from governance.models.fields import EpochMsField
from governance.models.operation import Operation


class IdempotencyKey(models.Model):
    """Written in the transaction of the change it belongs to. Its answer is sealed."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE)
    owner = models.ForeignKey(User, on_delete=models.CASCADE)
    """The API key's owner: a rotated key may finish what the old one began."""
    key = models.CharField(max_length=255)
    request_digest = models.CharField(max_length=64)
    operation = models.ForeignKey(Operation, on_delete=models.CASCADE)
    sealed_answer = models.BinaryField()
    is_final = models.BooleanField(default=False)
    """Whether the answer already says which stores took it."""
    created_at_ms = EpochMsField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "owner", "key"], name="one_use_of_a_key"),
        ]

    def __str__(self) -> str:
        return f"idempotency key {self.pk}"
