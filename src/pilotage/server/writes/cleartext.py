"""Secrets that would be stored in clear beside encrypted ones: a program that was not given the keys."""

from __future__ import annotations

from pilotage.errors import StorageError
from pilotage.server.definitions import collection_of
from pilotage.storage.interface import Storage

_FIRST = 100


class CleartextCheck:
    """Refuses a Secret of a program without keys where the tenant has encrypted ones.

    The first look is at all Secrets, later ones at a few: another program may have encrypted them since.
    """

    def __init__(self, storage: Storage, prefix: str) -> None:
        self._storage = storage
        self._secrets = prefix + collection_of("", "secrets")
        self._limit = 0

    async def check(self) -> None:
        """Raises StorageError."""
        from pilotage.storage.encryption import MARK, EncryptedStorage

        if isinstance(self._storage, EncryptedStorage):
            return
        for entry in (await self._storage.list(self._secrets, limit=self._limit)).entries:
            if entry.value.startswith(MARK):
                raise StorageError(
                    "the Secret would be stored unencrypted, but the storage has encrypted Secrets: give the keys "
                    "(--encryption-keys, encryption_keys=)"
                )
        self._limit = _FIRST
