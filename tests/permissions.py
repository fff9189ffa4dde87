"""Everybody who may come to a page, for tables of (who, method, path, status)."""

from django.test import Client

from governance.models import Role, User
from tests.world import World, add_person

EVERYBODY = ("nobody", "no role", "reviewer", "auditor", "admin", "admin elsewhere")


ADMINS_ONLY = {
    "nobody": 302,
    "no role": 403,
    "reviewer": 403,
    "auditor": 403,
    "admin": 200,
    "admin elsewhere": 404,
}


def browser(person: User) -> Client:
    """A browser in which this person is logged in."""
    client = Client(raise_request_exception=False)
    client.force_login(person)
    return client


def as_whom(world: World, who: str) -> Client:
    """A browser of one of ``EVERYBODY``."""
    if who == "nobody":
        return Client()
    if who == "admin elsewhere":
        return browser(add_person(World.create("elsewhere").workspace, Role.ADMIN))
    roles = [] if who == "no role" else [Role(who)]
    return browser(add_person(world.workspace, *roles))
