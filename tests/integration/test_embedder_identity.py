"""Another embedder than the vectors were made by: said loudly, and mended by one command."""

import httpx
import pytest

from benchmarks.local_server import LocalServer, installed, serving

BODY = {"agent_id": "a", "type": "semantic", "content": "Alice is allergic to peanuts"}
QUERY = {"agent_id": "a", "query": "peanut allergy"}


def recalled(server: LocalServer) -> httpx.Response:
    with server.client() as client:
        return client.post("/v0/recall", json=QUERY)


def test_another_embedder_fails_loudly_until_reembed_has_run() -> None:
    pytest.importorskip("wordllama", reason="the static embedder is an extra")
    with installed() as server:
        with serving(server), server.client() as client:
            client.post("/v0/remember", json=BODY).raise_for_status()
        with serving(server, embedder="static"):
            health = httpx.get(f"{server.address}/v0/health")
            assert (health.status_code, health.json()["status"]) == (503, "degraded")
            assert "all-MiniLM" in health.json()["problem"]
            answer = recalled(server)
            assert (answer.status_code, answer.json()["code"]) == (503, "embedder_mismatch")
            with server.client() as client:
                assert client.post("/v0/remember", json=BODY).status_code == 503
        said = server.manage("reembed", embedder="static")
        assert "embedded 1 of 1" in said
        assert "delivered 1 of 1" in said
        assert "embedded" not in server.manage("reembed", embedder="static")  # resumes: all done
        with serving(server, embedder="static"):
            (hit,) = recalled(server).json()["results"]
            assert (hit["content"], hit["source_store"]) == (BODY["content"], "sqlite-vec")
        assert "All is well" in server.manage("audit", "verify")
