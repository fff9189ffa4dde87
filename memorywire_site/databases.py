"""The ledger's database: a SQLite file in the data folder, or PostgreSQL by URL."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

SQLITE_PRAGMAS = (
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=FULL;"  # an acknowledged write survives a power cut
    "PRAGMA secure_delete=ON;"  # hard forget leaves no bytes in free pages
    "PRAGMA foreign_keys=ON;"
)


def sqlite(file: Path) -> dict[str, Any]:
    """Django's settings for the embedded ledger."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": file,
        # Connections live as long as their thread: see governance/execution.py.
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": SQLITE_PRAGMAS,
        },
        # A file, since tests reach it from several threads.
        "TEST": {"NAME": file.with_name(f"test-{file.name}")},
    }


def postgresql(url: str) -> dict[str, Any]:
    """Django's settings for a ledger at ``postgresql://user:password@host:port/database``.

    Raises: ValueError, saying what is wrong with the address or what is not installed.
    """
    if find_spec("psycopg") is None:
        raise ValueError("PostgreSQL needs the extra: pip install memorywire-governance[grown]")
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except ProgrammingError as error:
        raise ValueError(str(error).strip()) from error
    if not parts.get("dbname"):
        raise ValueError("it names no database")
    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host"}
    settings: dict[str, Any] = {key: parts.pop(name, "") for key, name in names.items()}
    settings["PORT"] = parts.pop("port", "")
    # What a connection sees before it enters a workspace: see governance/walls.py.
    given = parts.pop("options", "")
    parts["options"] = f"{given} -c memorywire.workspace=*".strip()
    return {
        "ENGINE": "django.db.backends.postgresql",
        **settings,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": parts,
    }


def store_beside(database_url: str, home: Path) -> str:
    """The store's URL where none is named: in the ledger's PostgreSQL, or a file of its own."""
    if database_url:
        return f"pgvector://{database_url.partition('://')[2]}"
    return f"sqlite-vec://{home / 'store.sqlite3'}"
