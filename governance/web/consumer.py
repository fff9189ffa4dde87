"""The live socket: tells an open page that something changed, and nothing else."""

import asyncio
from contextlib import suppress
from typing import Any

from channels.generic.websocket import AsyncJsonWebsocketConsumer

from governance import execution, live
from governance.errors import GovernanceError
from governance.models import User
from governance.web.members import member_with_a_role

CHECK_SECONDS = 3.0
"""How long a socket may outlive the role that let it in."""


class LiveConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc]  # channels ships no types
    """Sends ``{"cursor": N}``; the page then asks over HTTP, where it is judged what it may see."""

    group: str | None = None
    watch: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        user = self.scope["user"]
        workspace_id = await _workspace_id(user) if user.is_authenticated else None
        if workspace_id is None:
            await self.close()
            return
        live.serve_from(asyncio.get_running_loop())
        self.group = live.group(workspace_id)
        await self.channel_layer.group_add(self.group, self.channel_name)
        await self.accept()
        self.watch = asyncio.create_task(self._close_when_no_member(user, workspace_id))

    async def disconnect(self, code: int) -> None:
        if self.watch is not None and self.watch is not asyncio.current_task():
            self.watch.cancel()
            with suppress(asyncio.CancelledError):
                await self.watch
        if self.group is not None:
            await self.channel_layer.group_discard(self.group, self.channel_name)

    async def changed(self, message: dict[str, Any]) -> None:
        """A message of ``governance.live``."""
        await self.send_json({"cursor": message["cursor"]})

    async def receive_json(self, content: Any, **_: Any) -> None:
        """Pages have nothing to say here."""

    async def _close_when_no_member(self, user: User, workspace_id: str) -> None:
        """Asked again and again: whoever withdraws a role may do so in another process."""
        while await _workspace_id(user) == workspace_id:
            await asyncio.sleep(CHECK_SECONDS)
        await self.close()


async def _workspace_id(user: User) -> str | None:
    """The workspace whose pages a person may see now; None if there is none."""
    try:
        return (await execution.read(member_with_a_role, user)).workspace_id
    except GovernanceError:
        return None
