"""A pytest plugin for the published suite: its store fixture gets our server over HTTP.

Runs in the suite's own environment, where the package ``memorywire`` is installed and nothing of
this project is imported. ``MEMORYWIRE_ADDRESS`` and ``MEMORYWIRE_KEY`` say where the server is.
"""

import os
import time
import uuid
from typing import Any

import httpx
import pytest
from memorywire import models

CAPABILITIES = {
    "semantic", "episodic", "procedural", "emotional", "fts", "vector", "governance",
    "recall_tracking",
}  # fmt: skip
REFUSED = {400, 404, 422}


class HttpStore:
    """The suite's store interface over HTTP; each store sees agents of its own."""

    def __init__(self) -> None:
        self._client = httpx.Client(
            base_url=os.environ["MEMORYWIRE_ADDRESS"],
            headers={"Authorization": f"Bearer {os.environ['MEMORYWIRE_KEY']}"},
            timeout=30,
        )
        self._suffix = uuid.uuid4().hex

    async def remember(self, req: Any) -> Any:
        body = _body(req)
        offset = (body.get("metadata") or {}).get("_conformance_backdate_ms")
        if isinstance(offset, int):
            body["created_at"] = int(time.time() * 1000) - offset
        return models.RememberResponse.model_validate(self._call("remember", body))

    async def recall(self, req: Any) -> Any:
        return models.RecallResponse.model_validate(self._call("recall", _body(req)))

    async def forget(self, req: Any) -> Any:
        return models.ForgetResponse.model_validate(self._call("forget", _body(req)))

    async def merge(self, req: Any) -> Any:
        return self._call("merge", _body(req))

    async def expire(self, req: Any) -> Any:
        return self._call("expire", _body(req))

    async def health(self) -> dict[str, Any]:
        return dict(self._client.get("/v0/health").json())

    @property
    def capabilities(self) -> set[str]:
        return set(CAPABILITIES)

    def close(self) -> None:
        self._client.close()

    def _call(self, operation: str, body: dict[str, Any]) -> Any:
        body["agent_id"] = f"{body['agent_id']}-{self._suffix}"
        answer = self._client.post(f"/v0/{operation}", json=body)
        if answer.status_code in REFUSED:
            raise ValueError(answer.json()["detail"])
        return answer.raise_for_status().json()


def _body(req: Any) -> dict[str, Any]:
    return dict(req.model_dump(mode="json", exclude_none=True))


@pytest.fixture(scope="session", autouse=True)
def _server_in_the_place_of_a_store() -> None:
    from tests.conformance import conftest

    conftest._BUILDERS["sqlite-vec"] = HttpStore
