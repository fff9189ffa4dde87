"""The log as the served process writes it, with uvicorn and Celery in the same house."""

import json

import httpx

from benchmarks.local_server import started

SECRET = "Zanzibar-velociraptor-7741"


def test_a_line_per_request_and_no_address_with_workers_beside() -> None:
    with started(log_level="DEBUG", sweep_interval_seconds="0.2") as server:
        with server.client() as client:
            client.get(f"/v0/operations/{SECRET}?{SECRET}")
            client.post(f"/v0/recall?{SECRET}", json={"agent_id": SECRET, "query": SECRET})
        httpx.get(f"{server.address}/live?{SECRET}", headers={"Upgrade": "websocket"})
        banner, key = (server.home / "server.log").read_text(), server.key
    lines = [json.loads(line) for line in banner.splitlines() if line.startswith("{")]
    assert [(line["route"], line["status"]) for line in lines if line["event"] == "request"][
        -3:
    ] == [
        ("/v0/operations/<operation_id>", 404),
        ("/v0/recall", 200),
        ("unmatched", 404),
    ]
    said = "\n".join(json.dumps(line) for line in lines)
    assert SECRET not in said
    assert key not in said
