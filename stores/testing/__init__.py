"""What tests of stores need: doubles to put in a store's place, and scenarios to put a store to.

- ``InMemoryReplica``: a store that keeps every rule, in a dictionary.
- ``FlakyReplica``: fails, hangs or loses replies in front of another replica.
- ``HashEmbedder``: vectors without a model.
- ``SCENARIOS``: how a memorywire store behaves, as functions to run against any of them.
"""

from stores.adapters.in_memory import InMemoryReplica
from stores.testing.doubles import Fault, FlakyReplica, HashEmbedder
from stores.testing.scenarios import SCENARIOS
from stores.testing.session import Scenario, StoreFactory, StoreUnderTest, Unsupported

__all__ = [
    "SCENARIOS",
    "Fault",
    "FlakyReplica",
    "HashEmbedder",
    "InMemoryReplica",
    "Scenario",
    "StoreFactory",
    "StoreUnderTest",
    "Unsupported",
]
