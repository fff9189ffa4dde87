"""Invitations: how people come into a workspace."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from governance.ids import new_id
from governance.models.access import User, Workspace
from governance.models.fields import EpochMsField, ExactJsonField


class Invitation(models.Model):
    """A link that lets whoever has it into a workspace, once. Only a digest of it is kept."""

    id = models.CharField(primary_key=True, max_length=26, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE)
    email = models.EmailField()
    roles = ExactJsonField(default=list)
    agents = ExactJsonField(null=True)
    digest = models.CharField(max_length=64, unique=True)
    inviter = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at_ms = EpochMsField()
    expires_at_ms = EpochMsField()
    ended_at_ms = EpochMsField(null=True)
    """When it was accepted, withdrawn, or replaced by a newer one for the same address."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "workspace",
                Lower("email"),
                condition=Q(ended_at_ms__isnull=True),
                name="one_open_invitation_per_address",
            ),
        ]

    def __str__(self) -> str:
        return self.id
