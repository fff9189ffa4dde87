"""Whether the server is ready: public, and says nothing that is not."""

from typing import Literal

from django.http import HttpRequest
from ninja import Router, Status
from pydantic import BaseModel

from governance import execution, stores_runtime
from governance.api.openapi import refusals
from governance.embedding import embedder
from governance.models import Workspace
from stores.errors import EmbedderMismatch

router = Router(tags=["health"])


class Health(BaseModel):
    """``stores`` maps each store's name to whether it answers; the ledger must, stores may not."""

    status: Literal["ready", "degraded"]
    stores: dict[str, bool]
    embedder: str
    problem: str | None = None


@router.get("/health", response={**refusals(), 200: Health, 503: Health}, auth=None)
async def health(request: HttpRequest) -> Status[Health]:
    """200 while it can serve, degraded where a store does not answer; 503 where nothing can be.

    Ready means that the ledger answers and that its vectors are the configured embedder's.
    """
    workspace_id = await execution.read(
        lambda: Workspace.objects.values_list("pk", flat=True).order_by("pk").first()
    )
    model_id = embedder().model_id
    stores: dict[str, bool] = {}
    try:
        if workspace_id is not None:
            stores = await stores_runtime.on_loop(stores_runtime.health(workspace_id))
    except EmbedderMismatch as error:
        wrong = Health(status="degraded", stores={}, embedder=model_id, problem=str(error))
        return Status(503, wrong)
    status: Literal["ready", "degraded"] = "ready" if all(stores.values()) else "degraded"
    return Status(200, Health(status=status, stores=stores, embedder=model_id))
