"""The server as a ``MemoryStore``: the five operations over HTTP, and a reviewer's two buttons."""

import json
import time
from http import HTTPStatus
from typing import Any, TypeVar

from django.test import AsyncClient
from pydantic import BaseModel

from governance import clock, execution
from governance.decision import Ballot, decide
from governance.models import Review, Verdict
from stores.protocol import Capability
from stores.wire import (
    ExpireRequest,
    ExpireResponse,
    ForgetRequest,
    ForgetResponse,
    MergeRequest,
    MergeResponse,
    RecallRequest,
    RecallResponse,
    RememberRequest,
    RememberResponse,
    WireRequest,
)
from tests.world import World

Response = TypeVar("Response", bound=BaseModel)

#: How the server says that a request cannot be done as it stands.
REFUSALS = {HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY}


class HttpStore:
    """Raises: ValueError where the server answers 400, 404 or 422, with its ``detail``."""

    capabilities = frozenset(Capability) - {Capability.GRAPH}

    def __init__(self, key: str) -> None:
        self._client = AsyncClient(raise_request_exception=False)
        self._headers = {"Authorization": f"Bearer {key}"}

    async def remember(self, req: RememberRequest) -> RememberResponse:
        return await self._post("/v0/remember", req, RememberResponse)

    async def recall(self, req: RecallRequest) -> RecallResponse:
        return await self._post("/v0/recall", req, RecallResponse)

    async def forget(self, req: ForgetRequest) -> ForgetResponse:
        return await self._post("/v0/forget", req, ForgetResponse)

    async def merge(self, req: MergeRequest) -> MergeResponse:
        return await self._post("/v0/merge", req, MergeResponse)

    async def expire(self, req: ExpireRequest) -> ExpireResponse:
        return await self._post("/v0/expire", req, ExpireResponse)

    async def health(self) -> dict[str, Any]:
        return dict((await self._client.get("/v0/health")).json())

    async def _post(self, path: str, req: WireRequest, answers: type[Response]) -> Response:
        body = req.model_dump(mode="json", exclude_unset=True)
        response = await self._client.post(
            path, json.dumps(body), content_type="application/json", headers=self._headers
        )
        if response.status_code in REFUSALS:
            raise ValueError(response.json()["detail"])
        assert response.status_code in {200, 202}, response.content
        return answers.model_validate_json(response.content)


class MovableTime:
    """In place of the module ``time`` in ``governance.clock``: real, and ahead by what passed."""

    def __init__(self) -> None:
        self.ahead_ms = 0

    def time_ns(self) -> int:
        return time.time_ns() + self.ahead_ms * 1_000_000


class HttpStoreUnderTest:
    """The server as a ``stores.testing.StoreUnderTest``; its clock must have been replaced."""

    def __init__(self, world: World, passing: MovableTime) -> None:
        assert clock.time is passing  # type: ignore[comparison-overlap]
        self.store = HttpStore(world.key)
        self._world = world
        self._time = passing

    async def approve(self, memory_id: str) -> None:
        await self._decide(memory_id, Verdict.APPROVE)

    async def reject(self, memory_id: str) -> None:
        await self._decide(memory_id, Verdict.REJECT)

    async def pass_time(self, ms: int) -> None:
        self._time.ahead_ms += ms

    async def _decide(self, memory_id: str, verdict: Verdict) -> None:
        await decide(await execution.read(self._ballot, memory_id, verdict))

    def _ballot(self, memory_id: str, verdict: Verdict) -> Ballot:
        waiting = Review.objects.filter(status="pending").select_related("operation__seal_key")
        (review,) = (
            review for review in waiting if memory_id in {item["id"] for item in review.targets}
        )
        return Ballot(
            user=self._world.reviewer,
            review_id=review.pk,
            verdict=verdict,
            shown=self._world.shown(review),
        )
