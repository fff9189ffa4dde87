"""Memories: the current state, every version, and the vectors that rank them."""

from typing import Self

from django.db import models
from django.db.models import Q

from governance.models.access import Workspace
from governance.models.fields import EpochMsField, ExactJsonField
from governance.models.operation import Operation
from governance.models.seal import SealKey
from stores.protocol import PENDING_APPROVAL
from stores.wire import MemoryRecord, MemoryType


class EndReason(models.TextChoices):
    """Why a memory is no longer live."""

    REJECTED = "rejected"
    EXPIRED = "expired"
    FORGOTTEN = "forgotten"
    MERGED = "merged"
    SUPERSEDED = "superseded"
    EVICTED = "evicted"


class MemoryQuerySet(models.QuerySet["Memory"]):
    def visible(self, *, now_ms: int) -> Self:
        """What recall may return: live, not archived, not quarantined, not past its expiry."""
        return self.filter(
            Q(expires_at__isnull=True) | Q(expires_at__gt=now_ms),
            deleted_at__isnull=True,
            archived_at__isnull=True,
            quarantined_at__isnull=True,
        )

    def served(self) -> Self:
        """What stores should hold; see ``Memory.is_served``."""
        return self.filter(
            deleted_at__isnull=True, archived_at__isnull=True, quarantined_at__isnull=True
        )

    def of(self, workspace_id: str, agent_id: str, user_id: str | None) -> Self:
        """Those of one agent; of one of its users where given."""
        mine = self.filter(workspace_id=workspace_id, agent_id=agent_id)
        return mine if user_id is None else mine.filter(user_id=user_id)


class MemoryState(models.Model):
    """The columns that make up a memory's state, in the memory and in each of its versions."""

    type = models.CharField(
        max_length=16, choices=[(kind.value, kind.value) for kind in MemoryType]
    )
    content = models.TextField()
    metadata = ExactJsonField(default=dict)
    confidence = models.FloatField(default=1.0)
    source = models.TextField(null=True)  # noqa: DJ001  absent is not empty
    expires_at = EpochMsField(null=True)
    deleted_at = EpochMsField(null=True)
    """The protocol's state: null live, -1 staged, otherwise when it ended."""
    end_reason = models.CharField(max_length=16, choices=EndReason, blank=True)
    successor_id = models.CharField(max_length=128, null=True)  # noqa: DJ001
    archived_at = EpochMsField(null=True)
    demoted_at = EpochMsField(null=True)
    quarantined_at = EpochMsField(null=True)
    erased_at = EpochMsField(null=True)
    """When the words were destroyed; content and metadata are empty from then on."""

    class Meta:
        abstract = True


#: Names of the columns above, in a fixed order.
STATE_FIELDS: tuple[str, ...] = tuple(field.name for field in MemoryState._meta.local_fields)


class Memory(MemoryState):
    """One memory as it is now. Only ``governance.ledger`` changes it."""

    id = models.CharField(primary_key=True, max_length=128, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE)
    agent_id = models.CharField(max_length=256)
    user_id = models.CharField(max_length=256, null=True)  # noqa: DJ001  absent is not empty
    created_at = EpochMsField()
    updated_at = EpochMsField()
    version = models.PositiveIntegerField(default=1)
    seal_key = models.ForeignKey(SealKey, on_delete=models.PROTECT)

    objects = MemoryQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["workspace", "agent_id", "deleted_at"], name="memory_by_agent"),
            # The order people browse in.
            models.Index(fields=["workspace", "-created_at", "-id"], name="memory_newest"),
            models.Index(
                fields=["expires_at"],
                name="memory_expiring",
                condition=Q(deleted_at__isnull=True, expires_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def is_pending(self) -> bool:
        return self.deleted_at == PENDING_APPROVAL

    @property
    def is_served(self) -> bool:
        """Whether stores should hold it. Expiry is judged at read time, not here."""
        return self.deleted_at is None and self.archived_at is None and self.quarantined_at is None

    def as_record(self) -> MemoryRecord:
        """The memory as the wire knows it. Not validated again: it was, on its way in."""
        return MemoryRecord.model_construct(
            id=self.pk,
            agent_id=self.agent_id,
            user_id=self.user_id,
            type=MemoryType(self.type),
            content=self.content,
            metadata=self.metadata,
            confidence=self.confidence,
            source=self.source,
            created_at=self.created_at,
            updated_at=self.updated_at,
            expires_at=self.expires_at,
        )


class MemoryVersion(MemoryState):
    """The state a memory had from one change to the next. Never edited, erased only with it."""

    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    operation = models.ForeignKey(
        Operation, on_delete=models.PROTECT, related_name="memory_versions"
    )
    valid_from_ms = EpochMsField()
    valid_to_ms = EpochMsField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["memory", "number"], name="one_version_per_number"),
        ]

    def __str__(self) -> str:
        return f"{self.memory_id} v{self.number}"


class MemoryVector(models.Model):
    """The vector of a memory's text by one model. A new text or a new model makes a new row."""

    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="vectors")
    model_id = models.CharField(max_length=128)
    version_number = models.PositiveIntegerField()
    """The version whose text it was computed from."""
    data = models.BinaryField()
    """float32, little-endian, unit length."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["memory", "model_id", "version_number"], name="one_vector_per_text"
            ),
        ]
        # Tells at once whether there is a vector of another model than the one configured.
        indexes = [models.Index(fields=["model_id"], name="vector_by_model")]

    def __str__(self) -> str:
        return f"{self.memory_id} by {self.model_id}"
