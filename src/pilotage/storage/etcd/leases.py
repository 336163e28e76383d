"""Leases: etcd deletes the keys of a lease when it ends. Many keys share one, as leases are costly for etcd."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pilotage.errors import StorageError

from .client import EtcdClient
from .messages import GRANT, message

_SHARED_SECONDS = 60
_SHARED_KEYS = 1000


@dataclass(slots=True)
class _Lease:
    id: int
    until: float
    keys: int = 0


class Leases:
    """Gives a lease for a lifetime. A value lives up to a minute longer than its lifetime."""

    def __init__(self, client: EtcdClient) -> None:
        self._client = client
        self._leases: dict[int, _Lease] = {}
        self._granting = asyncio.Lock()

    async def share(self, lifetime: int, now: float, keys: int = 1) -> int:
        """Use a lease that ends `lifetime` seconds from `now` or a little later, and return its id; a new one is
        granted if needed. `keys` is the number of new keys."""
        async with self._granting:  # callers at the same time share one
            lease = self._leases.get(lifetime)
            if lease is None or now >= lease.until or lease.keys >= _SHARED_KEYS:
                lease = _Lease(await self._grant(lifetime + _SHARED_SECONDS), now + _SHARED_SECONDS)
                self._leases[lifetime] = lease
        lease.keys += keys
        return lease.id

    def forget(self) -> None:
        """Drop all leases: etcd does not know one of them any more."""
        self._leases.clear()

    async def _grant(self, seconds: int) -> int:
        answer = (await self._client.call(GRANT, message("LeaseGrantRequest")(TTL=seconds))).message
        if answer.error:
            raise StorageError(f"{self._client.address}: etcd did not grant a lease: {answer.error}")
        return int(answer.ID)
