"""Vectors and names as the file keeps them."""

import hashlib
import json
from typing import Final

import numpy as np

from stores.protocol import Vector

#: Where the vectors of records lie that no search may find.
HIDDEN_SHELF: Final = 0


def vector_bytes(vector: Vector) -> bytes:
    return np.ascontiguousarray(vector, dtype=np.float32).tobytes()


def vector_from(data: bytes | None) -> Vector | None:
    return None if data is None else np.frombuffer(data, dtype=np.float32)


def shelf(workspace: str, agent_id: str) -> int:
    """The partition an agent's visible vectors lie in.

    A hash, so that no name stays in an index. Every search joins ``memory`` and compares the names
    themselves, so that two agents on one shelf could not see each other either.
    """
    return key("shelf", workspace, agent_id)


def user_key(user_id: str | None) -> int:
    return 0 if user_id is None else key("user", user_id)


def key(*parts: str) -> int:
    """A positive 63-bit hash of some names, never 0."""
    digest = hashlib.blake2b(json.dumps(parts).encode(), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 1) or 1
