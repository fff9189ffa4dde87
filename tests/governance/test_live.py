"""The live socket: members hear that something changed in their workspace, and nothing else."""

import asyncio
import json
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.db import connection
from django.test import Client

from governance.models import Membership, User
from memorywire_site.asgi import application
from tests.world import World, add_person

ORIGIN = (b"origin", b"http://localhost")
HEARS_NOTHING_SECONDS = 0.3


class Socket(ApplicationCommunicator):
    """A page's socket. Channels' own test client would need a second web server installed."""

    def __init__(self, person: User | None, origin: tuple[bytes, bytes] = ORIGIN) -> None:
        client = Client()
        if person is not None:
            client.force_login(person)
        cookie = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
        super().__init__(
            application,
            {
                "type": "websocket",
                "path": "/live",
                "query_string": b"",
                "headers": [origin, (b"cookie", cookie.encode())],
                "subprotocols": [],
            },
        )

    async def connect(self) -> bool:
        """Whether the server took it."""
        await self.send_input({"type": "websocket.connect"})
        return (await self.receive_output(3))["type"] == "websocket.accept"

    async def hear(self) -> Any:
        return json.loads((await self.receive_output(3))["text"])

    async def disconnect(self) -> None:
        await self.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.wait(3)


@pytest.fixture
def members_socket(world: World) -> Socket:
    return Socket(world.reviewer)


@pytest.fixture
def strangers_socket(world: World) -> Socket:
    return Socket(World.create("other").reviewer)


async def test_a_member_hears_a_cursor_and_nothing_more(
    world: World, members_socket: Socket
) -> None:
    assert await members_socket.connect()
    await asyncio.to_thread(world.remembered, "Alice likes tea")
    assert await members_socket.hear() == {"cursor": 1}
    await members_socket.disconnect()


async def test_another_workspace_hears_nothing(world: World, strangers_socket: Socket) -> None:
    assert await strangers_socket.connect()
    await asyncio.to_thread(world.remembered, "Alice likes tea")
    assert await strangers_socket.receive_nothing(timeout=HEARS_NOTHING_SECONDS)
    await strangers_socket.disconnect()


@pytest.mark.parametrize("loss", ["roles", "membership", "account"])
async def test_a_socket_is_closed_within_5_seconds_of_losing_its_role(
    world: World, members_socket: Socket, loss: str
) -> None:
    assert await members_socket.connect()
    await asyncio.to_thread(_lose, world.reviewer, loss)
    assert (await members_socket.receive_output(5))["type"] == "websocket.close"
    await members_socket.disconnect()


def _lose(person: User, loss: str) -> None:
    memberships = Membership.objects.filter(user=person)
    if loss == "roles":
        memberships.update(roles=[])
    elif loss == "membership":
        memberships.delete()
    else:
        User.objects.filter(pk=person.pk).update(is_active=False)
    connection.close()


@pytest.fixture
def refused_sockets(world: World) -> dict[str, Socket]:
    elsewhere = (b"origin", b"https://evil.example")
    return {
        "nobody": Socket(None),
        "no workspace": Socket(User.objects.create_user("outsider@example.com")),
        "no role": Socket(add_person(world.workspace)),
        "another site's page": Socket(world.reviewer, elsewhere),
    }


@pytest.mark.parametrize("who", ["nobody", "no workspace", "no role", "another site's page"])
async def test_who_is_not_connected(refused_sockets: dict[str, Socket], who: str) -> None:
    assert not await refused_sockets[who].connect()
