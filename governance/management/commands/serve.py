"""``manage.py serve``: the web server, with the workers inside it by default."""

import asyncio
import gc
import json
import signal
import socket
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand

from governance import execution, outbox, recall_tracking, stopping, stores_runtime
from governance.embedding import embedder
from governance.management.commands.setup import first_login_path
from memorywire_site.embedded_workers import Workers

GRACE_SECONDS = 10
"""How long requests in flight may take once the server is asked to stop."""


class Command(BaseCommand):
    help = "Serve the API and the pages."

    def handle(self, **options: Any) -> None:
        environment = settings.ENVIRONMENT
        embedder().embed(["a first text"])  # the model is loaded now, not during a request
        gc.collect()
        gc.freeze()  # what is loaded by now stays: no collection need look at it again
        workers = Workers() if environment.embedded_workers else None
        if workers:
            workers.start()
        config = uvicorn.Config(
            "memorywire_site.asgi:application",
            host=environment.host,
            port=environment.port,
            log_config=None,  # the project's own: see memorywire_site/logs.py
            access_log=False,
            lifespan="off",
            # The only place where proxies are believed: Django sees what uvicorn made of it.
            proxy_headers=True,
            forwarded_allow_ips=environment.trusted_proxies,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            # uvicorn heeds both, and raises them again once it has stopped: then it is no failure.
            signal.signal(number, lambda *_: None)
        try:
            _Server(config).run()
        finally:
            _finish(workers)


def _finish(workers: Workers | None) -> None:
    """What is left after the last request: nothing new is begun, all that is noted is kept."""
    if workers:
        workers.stop()
    asyncio.run(outbox.flush())
    asyncio.run(recall_tracking.flush())
    stores_runtime.close()
    execution.close()


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:  # said last and only once it is true
            print(_banner(), flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        stopping.ask()
        await super().shutdown(sockets)


def _banner() -> str:
    address = settings.ENVIRONMENT.address
    lines = ["", f"memorywire is ready at {address}", ""]
    try:
        note = json.loads(first_login_path().read_text())
    except FileNotFoundError:
        return "\n".join(lines)
    return "\n".join(
        [
            *lines,
            f"  Log in   {note['email']}  {note['password']}",
            f"  Key      {note['key']}",
            "",
            "  Propose a memory:",
            "",
            f"  curl -s {address}/v0/remember -H 'Authorization: Bearer {note['key']}' \\",
            "    -H 'Content-Type: application/json' \\",
            '    -d \'{"agent_id": "concierge-7", "type": "semantic",'
            ' "content": "Bob prefers tea", "approval_required": true}\'',
            "",
            f"  These are noted in {first_login_path()}; delete that file once you keep them.",
            "",
        ]
    )
