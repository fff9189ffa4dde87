"""Telling open pages that something changed. Pages then read for themselves what they may see."""

import asyncio

from channels.layers import get_channel_layer

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
    loop = _server_loop
    if loop is None or loop.is_closed():
        return  # no socket was ever opened in this process
    message = {"type": "changed", "cursor": cursor}
    # The in-memory layer wakes a waiting socket only from the socket's own loop.
    asyncio.run_coroutine_threadsafe(_send(group(workspace_id), message), loop)


async def _send(name: str, message: dict[str, object]) -> None:
    layer = get_channel_layer()
    if layer is not None:
        await layer.group_send(name, message)
