"""Secrets of one installation: made on first use, kept in the data folder, readable by the owner.

Losing ``master.key`` makes every sealed audit entry unreadable: back up the folder as a whole.
"""

import os
import secrets
import sys
from pathlib import Path


def check_not_lost(key: Path, *, ledger: Path) -> None:
    """Stop the start rather than make a new key beside a ledger that only the old one opens."""
    if ledger.exists() and not key.exists():
        sys.exit(
            f"{key} is missing, and {ledger} cannot be opened without it. Put it back from a "
            "backup; docs/operations.md says how."
        )


def read_or_create(folder: Path, name: str, *, bytes_long: int) -> str:
    """The secret kept under ``name`` as hex text; a new random one on first use.

    Two processes starting at once agree: the file is linked into place whole, and only once.
    """
    path = folder / name
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = folder / f".{name}.{os.getpid()}.{secrets.token_hex(4)}"
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(bytes_long))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was first: its secret counts
        finally:
            draft.unlink()
    return path.read_text().strip()
