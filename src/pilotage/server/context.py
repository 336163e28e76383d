"""What the parts of the registry share: storage, tenant, catalogue, admission chain, clock and random numbers."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType

from pilotage.errors import (
    ApiError,
    InvalidDefinition,
    RequestTooLarge,
    ServiceUnavailable,
    StorageBroken,
    StorageBusy,
    StorageFull,
    StorageReadOnly,
    StorageUnavailable,
    Timeout,
)
from pilotage.meta.causes import internal_error
from pilotage.meta.documents import Document, copied
from pilotage.meta.scalars import times
from pilotage.meta.validation.names import tenant_problem
from pilotage.rest.logs import ContainerRuntime
from pilotage.rest.request import APIRequest
from pilotage.server import records, soundness
from pilotage.server.access.escalation import GRANTING, EscalationCheck
from pilotage.server.access.rbac import Authorizer
from pilotage.server.access.serviceaccounts import ServiceAccountTokens
from pilotage.server.admission import Admission, Limited, ResourceAdmission
from pilotage.server.catalogue.catalogue import Catalogue
from pilotage.server.cleartext import CleartextCheck
from pilotage.server.controllers import ALL as ALL_CONTROLLERS
from pilotage.server.conversion import Conversions, Converter
from pilotage.server.groupnames import DefinitionNameIndex
from pilotage.server.kinds import Allocator, KindSet, NamespaceContents
from pilotage.server.matching.configurations import AdmissionConfigurations, CurrentObjects
from pilotage.server.plugins.catalogue import chain as plugin_chain
from pilotage.server.plugins.plugin import DynamicAdmission, PluginContext
from pilotage.server.resources import ResourceInfo
from pilotage.server.screening import ScreenedStorage
from pilotage.server.uids import SystemChance, random_uid
from pilotage.server.webhooks.caller import WebhookCaller
from pilotage.server.webhooks.endpoints import Services
from pilotage.server.webhooks.local import LocalWebhooks
from pilotage.storage.bases import NO_REQUEST
from pilotage.storage.interface import Entry, Operation, Put, Storage
from pilotage.storage.transaction import MAX_VALUE_BYTES

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True, slots=True)
class RegistryContext:
    """Passed to every part of the registry when it is created."""

    stored: Storage
    """The storage as it is given, also with objects that cannot be read."""
    tenant: str = "default"
    clock: times.Clock = times.system_clock
    chance: random.Random = field(default_factory=SystemChance)
    admission: Admission = field(default=Admission())
    """The functions that see each write before it is stored."""
    plugins: frozenset[str] = frozenset()
    """The admission plugins of kube-apiserver that run, after these functions."""
    kinds: KindSet = field(default=KindSet())
    """The built-in kinds, and the custom resources with rules of their own."""
    authorization: bool = True
    """Whether RBAC authorizes requests that have a user. A server with its own authorization checks them itself."""
    namespace_lifecycle: bool = True
    """Whether objects are created only in namespaces that exist and are not terminating, as NamespaceLifecycle does."""
    contents: NamespaceContents | None = None
    """Creates the default objects of each namespace; None: there are none, and no other objects of a cluster either."""
    controllers: frozenset[str] = ALL_CONTROLLERS
    """The controllers of kube-controller-manager that run in the server."""
    local_webhooks: LocalWebhooks = field(default_factory=LocalWebhooks)
    """The webhooks that this program serves itself."""
    runtimes: list[ContainerRuntime] = field(default_factory=list)
    """What runs the containers of Pods: the last one answers. None: there are no containers."""
    problem_of: Callable[[Entry, KindSet], str] = soundness.problem
    """What is wrong with a stored object, which makes it unreadable; empty if nothing is."""
    storage: ScreenedStorage = field(init=False, repr=False, compare=False)
    """The storage with only the objects that can be read."""
    prefix: str = field(init=False, repr=False, compare=False)
    """What the keys of the tenant begin with."""
    catalogue: Catalogue = field(init=False, repr=False, compare=False)
    authorizer: Authorizer = field(init=False, repr=False, compare=False)
    """Decides on requests that have a user."""
    service_accounts: ServiceAccountTokens = field(init=False, repr=False, compare=False)
    """Issues and verifies the tokens of service accounts."""
    configurations: AdmissionConfigurations = field(init=False, repr=False, compare=False)
    """The objects that configure webhooks and policies."""
    quotas: CurrentObjects[bool] = field(init=False, repr=False, compare=False)
    """Whether there are quotas."""
    names: DefinitionNameIndex = field(init=False, default_factory=DefinitionNameIndex, repr=False, compare=False)
    """The names that definitions have."""
    allocator: Allocator | None = field(init=False, repr=False, compare=False)
    """Gives objects what they must have alone; None: no kind needs it."""
    cleartext: CleartextCheck = field(init=False, repr=False, compare=False)
    """Rejects unencrypted Secrets in a storage that has encrypted ones."""
    webhooks: WebhookCaller = field(init=False, repr=False, compare=False)
    """Calls webhooks."""
    converter: Converter = field(init=False, repr=False, compare=False)
    """Calls conversion webhooks."""
    chain: Admission = field(init=False, repr=False, compare=False)
    """The functions that see each write: the escalation check, the functions of `admission`, the plugins."""

    def __post_init__(self) -> None:
        if problem := tenant_problem(self.tenant):
            raise InvalidDefinition(problem)
        object.__setattr__(self, "prefix", f"/{self.tenant}/")
        object.__setattr__(
            self, "storage", ScreenedStorage(self.stored, lambda entry: self.problem_of(entry, self.kinds))
        )
        object.__setattr__(self, "catalogue", Catalogue(self.storage, self.prefix, self.kinds))
        object.__setattr__(self, "authorizer", Authorizer(self.storage, self.prefix))
        tokens = ServiceAccountTokens(self.storage, self.prefix, self.clock)
        object.__setattr__(self, "service_accounts", tokens)
        configurations = AdmissionConfigurations(self.storage, self.prefix)
        object.__setattr__(self, "configurations", configurations)
        object.__setattr__(self, "quotas", CurrentObjects(self.storage, self.prefix + self.kinds.quotas, bool, limit=1))
        object.__setattr__(self, "cleartext", CleartextCheck(self.stored, self.prefix))
        caller = WebhookCaller(self.local_webhooks, Services(self.storage, self.prefix))
        object.__setattr__(self, "webhooks", caller)
        object.__setattr__(self, "converter", Converter(caller, self.uid))
        object.__setattr__(self, "chain", self._chain())
        object.__setattr__(self, "allocator", self.kinds.allocator(self) if self.kinds.allocator else None)

    def _chain(self) -> Admission:
        dynamic = DynamicAdmission(
            self.configurations, self.webhooks, self.convert, self.authorizer, self.uid, self.catalogue, self.converter
        )
        context = PluginContext(self.storage, self.prefix, self.suffix, self.authorizer, dynamic, self.quotas)
        plugins = plugin_chain(self.kinds.plugins, self.plugins, context)
        escalation = Limited(lambda: EscalationCheck(self.authorizer), GRANTING)
        validating = (escalation, *self.admission.validating, *plugins.validating)
        return Admission((*self.admission.mutating, *plugins.mutating), validating)

    def admission_of(self, info: ResourceInfo) -> ResourceAdmission:
        """The part of the chain that sees a write of one resource now."""
        configurations, quotas = self.configurations.current() != {}, self.quotas.current() is not False
        return self.chain.of(info.group_resource, configurations=configurations, quotas=quotas)

    @property
    def calls_webhooks(self) -> bool:
        """Whether there may be webhooks or policies."""
        return bool(self.plugins) and self.configurations.current() != {}

    async def convert(self, document: Document, info: ResourceInfo) -> Document:
        """A document of another version of a resource, converted to this version; the given document is not changed.

        Unknown fields of custom resources are kept: they are dropped when an object is stored.
        """
        if not info.custom:
            return records.in_version(document, info)
        if info.conversion is None:
            found = records.unpruned(copied(document), info)
        else:
            (found,) = await self.converter.convert([document], info)
        return found | {"apiVersion": info.gvk.api_version}

    def conversions(self, info: ResourceInfo) -> Conversions:
        """The conversions of one request about a resource."""
        return Conversions(self.converter, info)

    def now(self) -> str:
        """The time as objects have it."""
        return times.format(self.clock())

    def time(self) -> datetime:
        return self.clock()

    def uid(self) -> str:
        """A random UUID (version 4)."""
        return random_uid(self.chance)

    def suffix(self) -> str:
        """The suffix that makes a generated name unique: no vowels, so no words."""
        return "".join(self.chance.choices(_LETTERS, k=5))

    def key(self, info: ResourceInfo, namespace: str, name: str) -> str:
        return self.prefix + info.key(namespace, name)

    async def entry(self, info: ResourceInfo, request: APIRequest) -> Entry:
        """The object that a request names. Raises NotFound."""
        entry = await self.storage.get(self.key(info, request.namespace, request.name))
        if entry is None:
            raise info.not_found(request.name)
        return entry

    async def damaged(self, prefix: str) -> Sequence[str]:
        """A warning for each object under a prefix that cannot be read."""
        return await self.storage.warnings(prefix)

    async def commit(self, *operations: Operation) -> int:
        """Commit to the storage; failures are raised as API errors, and the caller handles conflicts."""
        for operation in operations:
            if isinstance(operation, Put) and len(operation.value) > MAX_VALUE_BYTES:
                size = f"the object has {len(operation.value)} bytes, and at most {MAX_VALUE_BYTES} can be stored"
                raise RequestTooLarge(f"Request entity too large: {size}")
        try:
            return await self.storage.commit(*operations)
        except (StorageFull, StorageBusy, StorageReadOnly) as error:
            raise ServiceUnavailable(f"the object was not stored: {error}") from error
        except StorageUnavailable as error:
            raise _unavailable(error) from error
        except StorageBroken as error:
            raise internal_error(str(error)) from error

    def request(self, seconds: float | None = None) -> AbstractAsyncContextManager[None]:
        """A block around all reads of one request. If the servers of the storage do not answer, it fails with 503.

        It does so at the latest after `seconds`, which is how long the client waits.
        """
        found = self.storage.request()
        return found if found is NO_REQUEST else StorageRequest(found, seconds if seconds and seconds > 0 else None)


class StorageRequest:
    """The block of one request to a storage on other servers: if they do not answer, it raises an API error."""

    def __init__(self, block: AbstractAsyncContextManager[None] = NO_REQUEST, seconds: float | None = None) -> None:
        self._block = block
        self._seconds = seconds

    async def __aenter__(self) -> None:
        import asyncio  # only programs with a storage on other servers have one

        try:
            async with asyncio.timeout(self._seconds):
                await self._block.__aenter__()
        except TimeoutError:
            raise ServiceUnavailable(
                f"the storage has not answered within the {self._seconds:g} s that the request may take;"
                " nothing was written: try again later, or see the readiness of the server for the reason"
            ) from None
        except StorageUnavailable as error:
            raise _unavailable(error) from error

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._block.__aexit__(kind, error, traceback)
        if isinstance(error, StorageUnavailable):
            raise _unavailable(error) from error


def _unavailable(error: StorageUnavailable) -> ApiError:
    """503 if nothing was written, else 504: the client must read before it repeats the write."""
    return Timeout(str(error)) if error.sent else ServiceUnavailable(str(error))
