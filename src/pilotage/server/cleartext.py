"""Detects a program without the keys that would store unencrypted Secrets beside encrypted ones."""

from __future__ import annotations

from pilotage.errors import StorageError
from pilotage.server.definitions import collection_of
from pilotage.storage.interface import Storage

_FIRST = 100


class CleartextCheck:
    """Rejects a Secret of a program without keys if the tenant has encrypted ones. The first check reads all Secrets,
    later ones a few: another program may have encrypted them since.
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
