"""Keys that seal content in rows nobody may change."""

from django.db import models

from governance.models.access import Workspace
from governance.models.fields import EpochMsField


class SealKey(models.Model):
    """One data key, wrapped by its workspace's key. Destroying it erases what it sealed."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE)
    wrapped = models.BinaryField(null=True)
    destroyed_at_ms = EpochMsField(null=True)

    def __str__(self) -> str:
        return f"key {self.pk}"
