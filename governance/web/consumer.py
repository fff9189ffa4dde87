"""The live socket: tells an open page that something changed, and nothing else."""

import asyncio
from typing import Any

from channels.generic.websocket import AsyncJsonWebsocketConsumer

from governance import execution, live
from governance.errors import GovernanceError
from governance.web.members import member_with_a_role


class LiveConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc]  # channels ships no types
    """Sends ``{"cursor": N}``; the page then asks over HTTP, where it is judged what it may see."""

    group: str | None = None

    async def connect(self) -> None:
        user = self.scope["user"]
        if not user.is_authenticated:
            await self.close()
            return
        try:
            membership = await execution.read(member_with_a_role, user)
        except GovernanceError:
            await self.close()
            return
        live.serve_from(asyncio.get_running_loop())
        self.group = live.group(membership.workspace_id)
        await self.channel_layer.group_add(self.group, self.channel_name)
        await self.accept()

    async def disconnect(self, code: int) -> None:
        if self.group is not None:
            await self.channel_layer.group_discard(self.group, self.channel_name)

    async def changed(self, message: dict[str, Any]) -> None:
        """A message of ``governance.live``."""
        await self.send_json({"cursor": message["cursor"]})

    async def receive_json(self, content: Any, **_: Any) -> None:
        """Pages have nothing to say here."""
