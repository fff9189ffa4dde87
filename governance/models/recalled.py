"""When memories were last recalled. Beside the ledger's truth, not part of a memory's state."""

from django.db import models

from governance.models.fields import EpochMsField
from governance.models.memory import Memory


class Recalled(models.Model):
    """One row per memory that was ever recalled."""

    memory = models.OneToOneField(Memory, on_delete=models.CASCADE, primary_key=True)
    last_at_ms = EpochMsField()
    times = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.memory_id} recalled {self.times} times"
