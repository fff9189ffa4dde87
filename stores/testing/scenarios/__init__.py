"""How a memorywire store behaves. Importing a module registers its scenarios."""

from stores.testing.scenarios import (
    expire,
    forget,
    lifetime,
    merge,
    procedures,
    recall,
    scope,
    staging,
)
from stores.testing.session import SCENARIOS

__all__ = [
    "SCENARIOS",
    "expire",
    "forget",
    "lifetime",
    "merge",
    "procedures",
    "recall",
    "scope",
    "staging",
]
