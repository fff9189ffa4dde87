"""A small OpenID Connect provider on a port of its own: whoever comes is who the test says."""

import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt

CLIENT_ID, CLIENT_SECRET = "memorywire", secrets.token_hex(16)


@dataclass
class Provider:
    """``claims`` are what it says of the person; ``tokens`` what it was asked for them with."""

    address: str
    claims: dict[str, Any] = field(default_factory=dict)
    tokens: list[dict[str, str]] = field(default_factory=list)
    fails: bool = False


@contextmanager
def running() -> Iterator[Provider]:
    """A provider until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    provider = Provider(address=f"http://127.0.0.1:{server.server_port}")
    server.RequestHandlerClass = _handler(provider)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            self._answer(provider.claims if path == "/userinfo" else _discovery(provider.address))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            provider.tokens.append({name: each[0] for name, each in parse_qs(body).items()})
            if provider.fails:
                self._answer({"error": "invalid_grant"}, status=400)
                return
            now = int(time.time())
            claims = {"iss": provider.address, "aud": CLIENT_ID, "iat": now, "exp": now + 60}
            token = jwt.encode({**claims, **provider.claims}, CLIENT_SECRET, algorithm="HS256")
            self._answer({"access_token": "x", "token_type": "Bearer", "id_token": token})

        def _answer(self, value: dict[str, Any], status: int = 200) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(value).encode())

        def log_message(self, *said: Any) -> None:
            """Says nothing."""

    return Handler


def _discovery(address: str) -> dict[str, Any]:
    return {
        "issuer": address,
        "authorization_endpoint": f"{address}/authorize",
        "token_endpoint": f"{address}/token",
        "userinfo_endpoint": f"{address}/userinfo",
        "jwks_uri": f"{address}/keys",
        "token_endpoint_auth_methods_supported": ["client_secret_post"],
    }
