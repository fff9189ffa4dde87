"""One archive of an installation: ``taking`` makes it while serving, ``restoring`` brings it back.

``archive`` is its format: a tar with a manifest first, the ledger, and the secrets that open it.
Stores are not in it. What they hold is in the ledger, vectors included, and the archived ledger
says that no store has anything: whoever restores it, the outbox fills them again. So no store's
copy can be older or newer than the ledger it comes back with.
"""
