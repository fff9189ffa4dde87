"""Telling open pages that something changed. Pages then read for themselves what they may see."""

import asyncio
import logging

from asgiref.sync import async_to_sync
from channels.layers import InMemoryChannelLayer, get_channel_layer

log = logging.getLogger(__name__)

_server_loop: asyncio.AbstractEventLoop | None = None


def serve_from(loop: asyncio.AbstractEventLoop) -> None:
    """Remember the loop the sockets live on."""
    global _server_loop
    _server_loop = loop


def group(workspace_id: str) -> str:
    """The channel group of a workspace's open pages."""
    return f"workspace.{workspace_id}"


def announce(workspace_id: str, cursor: int) -> None:
    """Send ``cursor`` to every open page of the workspace. Call on commit only, from any thread.

    A lost announcement costs seconds, not correctness: pages also ask by cursor on their own.
    """
    name, message = group(workspace_id), {"type": "changed", "cursor": cursor}
    if _server_loop is not None and not _server_loop.is_closed():
        # The in-memory layer wakes a waiting socket only from the socket's own loop.
        asyncio.run_coroutine_threadsafe(_send(name, message), _server_loop)
    elif not isinstance(get_channel_layer(), InMemoryChannelLayer):
        async_to_sync(_send)(name, message)  # a worker or a command: the pages are elsewhere


async def _send(name: str, message: dict[str, object]) -> None:
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        await layer.group_send(name, message)
    except Exception as error:  # whatever the layer's server may raise: the change is committed
        log.warning("pages were not told of a change: %s", type(error).__name__)
