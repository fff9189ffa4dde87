"""Where the store lies: the part of its URL after ``pgvector://``."""

import re
from dataclasses import dataclass
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from stores.errors import StoreRefused

DEFAULT_SCHEMA: Final = "memorywire_store"
_SCHEMA: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_SCHEMA_PARAMETER: Final = re.compile(r"[?&]schema=([^&]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A database and the schema in it that is all the store's."""

    conninfo: str
    schema: str

    def __repr__(self) -> str:
        return f"Address(schema={self.schema!r})"  # conninfo holds the password


def parse(place: str) -> Address:
    """Read ``user:password@host:port/database?schema=name&sslmode=require``.

    Every parameter but ``schema`` is libpq's.

    Raises: StoreRefused, which does not repeat the address.
    """
    found = _SCHEMA_PARAMETER.search(place)
    schema = found[1] if found else DEFAULT_SCHEMA
    if not _SCHEMA.fullmatch(schema):
        raise StoreRefused("pgvector: schema takes small letters, digits and underscores")
    rest = _SCHEMA_PARAMETER.sub("", place)
    if found and found[0].startswith("?"):
        rest = rest.replace("&", "?", 1)  # what followed it is first now
    try:
        parameters = {"connect_timeout": "5", "application_name": "memorywire"} | {
            name: str(value)
            for name, value in conninfo_to_dict(f"postgresql://{rest}").items()
            if value is not None
        }
    except psycopg.ProgrammingError:
        raise StoreRefused(
            "pgvector: the URL cannot be read; it looks like"
            " pgvector://user:password@host:port/database"
        ) from None
    if not parameters.get("dbname"):
        raise StoreRefused("pgvector: the URL names no database")
    return Address(conninfo=make_conninfo(**parameters), schema=schema)
