"""Whether the server is ready: public, and says nothing that is not."""

from typing import Literal

from django.http import HttpRequest
from ninja import Router
from pydantic import BaseModel

from governance import execution, stores_runtime
from governance.api.openapi import refusals
from governance.embedding import embedder
from governance.models import Workspace

router = Router(tags=["health"])


class Health(BaseModel):
    """``stores`` maps each store's name to whether it answers; the ledger must, stores may not."""

    status: Literal["ready", "degraded"]
    stores: dict[str, bool]
    embedder: str


@router.get("/health", response={200: Health, **refusals()}, auth=None)
async def health(request: HttpRequest) -> Health:
    """200 once the ledger answers; degraded while a store does not."""
    workspace_id = await execution.read(
        lambda: Workspace.objects.values_list("pk", flat=True).order_by("pk").first()
    )
    stores = (
        await stores_runtime.on_loop(stores_runtime.health(workspace_id)) if workspace_id else {}
    )
    return Health(
        status="ready" if all(stores.values()) else "degraded",
        stores=stores,
        embedder=embedder().model_id,
    )
