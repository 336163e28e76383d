"""Encryption at rest: which keys are encrypted, and a storage that encrypts them."""

from __future__ import annotations

from pilotage.server.access.serviceaccounts import KEY
from pilotage.storage.encryption import Cipher, EncryptedStorage, load_keys
from pilotage.storage.interface import Storage

_SECRETS = "/core/secrets/"


def is_secret(key: str) -> bool:
    """Whether a key is the key of a Secret of any tenant, or of the server's own key for tokens of service accounts."""
    return key.startswith(_SECRETS, key.find("/", 1)) or key.endswith(f"/{KEY}")


def encrypted(storage: Storage, keys: str) -> EncryptedStorage:
    """The storage with encrypted Secrets; `keys` is a file, or `exec:COMMAND`. Raises StorageError."""
    return EncryptedStorage(storage, Cipher(load_keys(keys)), is_secret)
