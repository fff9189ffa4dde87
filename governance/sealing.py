"""Encryption of words in rows that may never change, and keyed digests over rows.

Three levels: the installation's master key wraps a key per workspace, which wraps a data key per
memory. Destroying a data key erases what it sealed, however many copies of the row exist.
"""

import hashlib
import hmac
import json
import os
from base64 import b64decode, b64encode
from dataclasses import dataclass
from functools import cache
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings

from governance.models import SealKey, Workspace
from governance.models.insert import insert

_NONCE_BYTES = 12
_SALT_BYTES = 16
_KEY_BYTES = 32


def canonical_json(value: Any) -> bytes:
    """One byte string per JSON value, whatever order its keys came in."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


@dataclass(frozen=True, slots=True)
class Sealed:
    """Encrypted words and the salted SHA-256 they can be checked against once opened."""

    ciphertext: bytes
    commitment: str


@dataclass(frozen=True, slots=True)
class DataKey:
    """The key of one memory or operation. ``id`` names its row."""

    id: int
    secret: bytes

    def seal(self, words: Any) -> Sealed:
        """Encrypt a JSON value. The salt travels inside, so it is gone when the key is."""
        salted = os.urandom(_SALT_BYTES) + canonical_json(words)
        return Sealed(_encrypt(self.secret, salted, b"words"), hashlib.sha256(salted).hexdigest())

    def open(self, ciphertext: bytes, commitment: str | None = None) -> Any:
        """The JSON value that was sealed.

        Raises: ValueError if it was altered or does not match the commitment.
        """
        salted = _decrypt(self.secret, ciphertext, b"words")
        if commitment is not None and hashlib.sha256(salted).hexdigest() != commitment:
            raise ValueError("the sealed words do not match their commitment")
        return json.loads(salted[_SALT_BYTES:])

    def digest(self, value: Any) -> str:
        """Keyed SHA-256 of a JSON value; says nothing about it once the key is gone."""
        return hmac.new(self.secret, canonical_json(value), hashlib.sha256).hexdigest()


def _encrypt(key: bytes, plain: bytes, purpose: bytes) -> bytes:
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, plain, purpose)


def _decrypt(key: bytes, blob: bytes, purpose: bytes) -> bytes:
    try:
        return AESGCM(key).decrypt(blob[:_NONCE_BYTES], blob[_NONCE_BYTES:], purpose)
    except InvalidTag as error:
        raise ValueError("cannot be opened: altered, or sealed under another key") from error


@cache
def _master_key(purpose: str) -> bytes:
    return hmac.new(bytes.fromhex(settings.MASTER_KEY), purpose.encode(), hashlib.sha256).digest()


def new_workspace_key() -> bytes:
    """A fresh workspace key, wrapped, as ``Workspace.wrapped_key`` keeps it."""
    return _encrypt(_master_key("wrap"), os.urandom(_KEY_BYTES), b"workspace")


@cache
def _workspace_key(workspace_id: str) -> bytes:
    wrapped = Workspace.objects.values_list("wrapped_key", flat=True).get(pk=workspace_id)
    return _decrypt(_master_key("wrap"), bytes(wrapped), b"workspace")


def new_data_key(workspace_id: str) -> DataKey:
    """Make and store a data key; one insert inside the caller's transaction."""
    secret = os.urandom(_KEY_BYTES)
    row = SealKey(
        workspace_id=workspace_id,
        wrapped=_encrypt(_workspace_key(workspace_id), secret, b"data"),
    )
    insert(row)
    return DataKey(row.pk, secret)


def data_key(row: SealKey) -> DataKey | None:
    """The key behind a row; None once it was destroyed."""
    if row.wrapped is None:
        return None
    return DataKey(row.pk, _decrypt(_workspace_key(row.workspace_id), bytes(row.wrapped), b"data"))


def destroy(key_ids: list[int], *, now_ms: int) -> None:
    """Make everything sealed under these keys unreadable, for good."""
    SealKey.objects.filter(pk__in=key_ids, wrapped__isnull=False).update(
        wrapped=None, destroyed_at_ms=now_ms
    )


def workspace_digest(workspace_id: str, value: Any) -> str:
    """Keyed SHA-256 under the workspace's key: for fingerprints, and for what holds no words."""
    return hmac.new(_workspace_key(workspace_id), canonical_json(value), hashlib.sha256).hexdigest()


def seal_secret(text: str) -> str:
    """A secret of the installation, such as what an authenticator app shares, as text to keep."""
    return b64encode(_encrypt(_master_key("secret"), text.encode(), b"secret")).decode()


def open_secret(sealed: str) -> str:
    """What ``seal_secret`` was given.

    Raises: ValueError if it was altered.
    """
    return _decrypt(_master_key("secret"), b64decode(sealed), b"secret").decode()


def audit_mac(value: Any) -> str:
    """Keyed SHA-256 under a key that lies outside the database."""
    return hmac.new(_master_key("audit"), canonical_json(value), hashlib.sha256).hexdigest()
