"""A memorywire client's view of our server: its ``MemoryStore``, over HTTP.

Imports nothing of this project: the peer's models on one side, JSON on the other.
"""

import time
import uuid
from typing import Any, TypeVar

import httpx
from memorywire.models import (
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
)
from memorywire.store import Capability
from pydantic import BaseModel

Response = TypeVar("Response", bound=BaseModel)

#: The suite's mark for "this was written so long ago", in metadata.
BACKDATE_KEY = "_conformance_backdate_ms"


class HttpStore:
    """One empty store: every instance has agents of its own on the server.

    A refused request (400 or 422) is a ``ValueError``, as the suite wants of an in-process store.
    """

    def __init__(self, base_url: str, key: str) -> None:
        self._client = httpx.AsyncClient(
            base_url=base_url, headers={"Authorization": f"Bearer {key}"}, timeout=30
        )
        self._suffix = uuid.uuid4().hex

    async def remember(self, req: RememberRequest) -> RememberResponse:
        body = self._body(req)
        ago_ms = body.get("metadata", {}).pop(BACKDATE_KEY, None)
        if ago_ms is not None:
            body["created_at"] = time.time_ns() // 1_000_000 - ago_ms
        return await self._post("remember", body, RememberResponse)

    async def recall(self, req: RecallRequest) -> RecallResponse:
        return await self._post("recall", self._body(req), RecallResponse)

    async def forget(self, req: ForgetRequest) -> ForgetResponse:
        return await self._post("forget", self._body(req), ForgetResponse)

    async def merge(self, req: MergeRequest) -> MergeResponse:
        return await self._post("merge", self._body(req), MergeResponse)

    async def expire(self, req: ExpireRequest) -> ExpireResponse:
        return await self._post("expire", self._body(req), ExpireResponse)

    async def health(self) -> dict[str, Any]:
        answer = await self._client.get("/v0/health")
        return dict(answer.raise_for_status().json())

    @property
    def capabilities(self) -> set[str]:
        """Fixed for a version of the server, so no call is needed."""
        return {
            Capability.SEMANTIC,
            Capability.EPISODIC,
            Capability.PROCEDURAL,
            Capability.EMOTIONAL,
            Capability.FTS,
            Capability.VECTOR,
            Capability.GOVERNANCE,
            Capability.RECALL_TRACKING,
        }

    def _body(self, request: BaseModel) -> dict[str, Any]:
        body = request.model_dump(mode="json", exclude_none=True)
        return body | {"agent_id": f"{body['agent_id']}-{self._suffix}"}

    async def _post(self, operation: str, body: dict[str, Any], model: type[Response]) -> Response:
        answer = await self._client.post(f"/v0/{operation}", json=body)
        if answer.status_code in (400, 422):
            raise ValueError(answer.text)
        return model.model_validate(answer.raise_for_status().json())
