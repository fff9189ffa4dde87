"""Behind a proxy that speaks https: its word counts, anybody else's does not."""

import httpx

from benchmarks.local_server import LocalServer, started

PUBLIC = "https://memory.example.org"
HOST = {"Host": "memory.example.org"}
SAYS_HTTPS = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}


def login(server: LocalServer, **headers: str) -> httpx.Response:
    return httpx.get(f"{server.address}/login", headers=headers)


def test_a_trusted_proxy_is_believed_and_probes_need_none() -> None:
    with started(public_url=PUBLIC) as server:
        assert login(server, **HOST, **SAYS_HTTPS).status_code == 200
        assert "max-age" in login(server, **HOST, **SAYS_HTTPS).headers["Strict-Transport-Security"]
        plain = login(server, **HOST)
        assert (plain.status_code, plain.headers["Location"]) == (301, f"{PUBLIC}/login")
        assert login(server, Host="elsewhere.example.org", **SAYS_HTTPS).status_code == 400
        assert httpx.get(f"{server.address}/livez").status_code == 200


def test_a_proxy_that_is_not_named_is_not_believed() -> None:
    with started(public_url=PUBLIC, trusted_proxies="10.0.0.7,192.168.0.0/16") as server:
        assert login(server, **HOST, **SAYS_HTTPS).status_code == 301
