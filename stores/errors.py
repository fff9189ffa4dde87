"""What can go wrong with a store, sorted by what the caller does next.

StoreError
├── StoreUnavailable   try again later: down, slow, busy
└── StoreRefused       do not try again: the request or the configuration is wrong
    ├── UnknownStore       no adapter answers to this URL
    ├── MissingExtra       the adapter needs a package that is not installed
    └── EmbedderMismatch   the store holds vectors of another model or size
"""


class StoreError(Exception):
    """Base of everything an adapter may raise; the driver's own error is its ``__cause__``."""


class StoreUnavailable(StoreError):
    """The store did not answer, or not in time. The same call may succeed later."""


class StoreRefused(StoreError):
    """The store will never accept this call as it stands."""


class UnknownStore(StoreRefused):
    """The URL names no known adapter."""


class MissingExtra(StoreRefused):
    """The adapter's software is not installed; the message names the extra to install."""


class EmbedderMismatch(StoreRefused):
    """The store was filled by another embedding model, or with vectors of another size."""
