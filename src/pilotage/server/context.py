"""What the parts of the registry share: the storage, the tenant's place in it, the catalogue, time and chance."""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass, field
from datetime import datetime

from pilotage.errors import (
    InternalError,
    InvalidDefinition,
    RequestTooLarge,
    ServiceUnavailable,
    StorageBroken,
    StorageBusy,
    StorageFull,
)
from pilotage.meta import times
from pilotage.meta.names import dns_1123_label
from pilotage.rest.request import Request
from pilotage.server.catalogue import Catalogue
from pilotage.server.resources import ResourceInfo
from pilotage.storage.interface import Entry, Operation, Put, Storage
from pilotage.storage.transaction import MAX_VALUE_BYTES

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True, slots=True)
class RegistryContext:
    """Handed to every part of the registry when it is made."""

    storage: Storage
    tenant: str = "default"
    clock: times.Clock = times.system_clock
    chance: random.Random = field(default_factory=random.SystemRandom)

    def __post_init__(self) -> None:
        if problems := dns_1123_label(self.tenant):  # a slash would make one tenant a part of another
            raise InvalidDefinition(f"the tenant {self.tenant!r} cannot be: {'; '.join(problems)}")

    @property
    def prefix(self) -> str:
        return f"/{self.tenant}/"

    @property
    def catalogue(self) -> Catalogue:
        return Catalogue(self.storage, self.prefix)

    def now(self) -> str:
        """The time as objects have it."""
        return times.format(times.now(self.clock))

    def time(self) -> datetime:
        return self.clock()

    def uid(self) -> str:
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def suffix(self) -> str:
        """What makes a generated name unique: no vowels, so no words."""
        return "".join(self.chance.choices(_LETTERS, k=5))

    def key(self, info: ResourceInfo, namespace: str, name: str) -> str:
        return self.prefix + info.key(namespace, name)

    async def entry(self, info: ResourceInfo, request: Request) -> Entry:
        """The object that a request names. Raises NotFound."""
        entry = await self.storage.get(self.key(info, request.namespace, request.name))
        if entry is None:
            raise info.not_found(request.name)
        return entry

    async def commit(self, *operations: Operation) -> int:
        """As the storage's own, with its failures told as an API server tells them; conflicts are the caller's."""
        for operation in operations:
            if isinstance(operation, Put) and len(operation.value) > MAX_VALUE_BYTES:
                size = f"the object has {len(operation.value)} bytes, and at most {MAX_VALUE_BYTES} can be stored"
                raise RequestTooLarge(f"Request entity too large: {size}")
        try:
            return await self.storage.commit(*operations)
        except (StorageFull, StorageBusy) as error:
            raise ServiceUnavailable(f"the object was not stored: {error}") from error
        except StorageBroken as error:
            raise InternalError(f"Internal error occurred: {error}") from error
