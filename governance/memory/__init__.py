"""The front door: remember, forget, merge and expire, governed.

Every write takes the same road (``governance.writing``): check the key, compute what needs a
model, then in one transaction decide by policy and apply, stage or deny; after the commit deliver
to the primary store. ``docs/life-of-a-remember.md`` walks along it.
"""

from governance.memory.expiring import expire
from governance.memory.forgetting import forget
from governance.memory.merging import merge
from governance.memory.remembering import remember

__all__ = ["expire", "forget", "merge", "remember"]
