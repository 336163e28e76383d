"""The registry of GPUs: the API server's registry for one kind, with providers, heartbeats, limits and a readiness
gate."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from pilotage.client.conflicts import PATIENT, retry_on_conflict
from pilotage.device.server import merging, metrics
from pilotage.device.server.admission import AUTHORIZED, SERVER, UNSPOKEN, GPUAdmission, Limits, check_provider
from pilotage.device.server.bodies import completed
from pilotage.device.server.heartbeats import HeartbeatMonitor
from pilotage.device.server.readiness import ReadinessGate
from pilotage.device.server.resourceversions import check_reached, check_version
from pilotage.device.server.storageversion import DEFINITION, definition
from pilotage.device.server.strategy import KINDS, stored_problem
from pilotage.device.server.telemetry import LatestTelemetry, TelemetryOptions
from pilotage.device.wire.generation import RESOURCE
from pilotage.device.wire.tolerance import check_name
from pilotage.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    InternalError,
    MethodNotSupported,
    NotFound,
    RequestTooLarge,
    RevisionConflict,
    TooManyRequests,
)
from pilotage.grpc.rpc import Peer
from pilotage.meta import objects
from pilotage.meta.bounds.optionfields import SecondsField, check_fields, seconds_field
from pilotage.meta.documents import Document
from pilotage.meta.kinds import CUSTOM_RESOURCE_DEFINITIONS
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.scalars import times
from pilotage.rest import Transport
from pilotage.rest.request import READS, APIRequest, PatchType, User, Verb
from pilotage.rest.response import Page, Response, WatchEvent
from pilotage.server import records
from pilotage.server.admission import Admission
from pilotage.server.context import RegistryContext
from pilotage.server.registry import Registry
from pilotage.server.resources import ResourceInfo
from pilotage.storage.interface import Delete, Put, Storage
from pilotage.tasks import cancel_all

_NO_CONDITION = dict.fromkeys(("reason", "message", "lastTransitionTime", "observedGeneration"))
"""Nulls for the optional fields of a condition, so that a patch removes the values of the previous one."""
_BODIES = 4
"""The largest body, as a multiple of the largest object: a patch may be larger than its result."""


_COMPACT_AFTER_NOTES = 4096
"""The number of written heartbeat notes after which the storage is compacted: its history has at most twice as many."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller of a request."""

    provider: str = ""
    """The provider id that the caller sent; empty if it sent none."""
    peer: Peer = field(default=Peer())
    unspoken: tuple[str, ...] = ()
    """Fields of metadata that the caller's wire or client cannot carry: an update leaves them unchanged."""

    @property
    def identity(self) -> str:
        """The owner of the conditions it writes: the provider, or else the user."""
        return self.provider or (f"uid:{self.peer.uid}" if self.peer.uid >= 0 else "unknown")

    @property
    def user(self) -> User:
        """The user for admission."""
        return User(self.identity, groups=AUTHORIZED, extra={UNSPOKEN: self.unspoken} if self.unspoken else {})


@dataclass(frozen=True, slots=True)
class RegistryOptions:
    """Options of a DeviceRegistry. Times are in seconds."""

    gate_seconds: SecondsField = seconds_field(30.0)
    """How long reads are refused while there is no GPU; 0: never."""
    heartbeat_seconds: SecondsField = seconds_field(30.0)
    """How long a provider that sends heartbeats may be silent before its conditions become Unknown."""
    limits: Limits = field(default=Limits())
    """How much the registry stores."""

    def __post_init__(self) -> None:
        check_fields(self)


class DeviceRegistry:
    """The GPUs in a storage, which the caller opens and closes. An async context manager; use it inside its block.

    Requests go through `transport(caller)`, which `client.Client` accepts.
    """

    def __init__(
        self, storage: Storage, options: RegistryOptions | None = None, *, clock: times.Clock = times.system_clock
    ) -> None:
        self.options = options or RegistryOptions()
        admission = GPUAdmission(self.options.limits, clock)
        self.context = RegistryContext(
            storage,
            tenant="devices",
            clock=clock,
            chance=random.SystemRandom(),
            admission=Admission(mutating=(admission.mutate,), validating=(admission.validate,)),
            kinds=KINDS,
            problem_of=stored_problem,
            authorization=False,  # uids and gids have roles instead
            controllers=frozenset(),
        )
        self.api = Registry(self.context)
        self.gate = ReadinessGate(self.options.gate_seconds)
        self.heartbeats = HeartbeatMonitor(
            timeout=self.options.heartbeat_seconds,
            most=self.options.limits.providers,
            on_lost=self._on_lost,
            on_noted=self._on_noted,
        )
        self.telemetry = LatestTelemetry(
            TelemetryOptions(stale_seconds=self.options.heartbeat_seconds, most=self.options.limits.objects)
        )
        """Readings of GPUs, which are not stored."""
        self._exits = AsyncExitStack()
        self._creating = asyncio.Lock()
        self._info: ResourceInfo | None = None
        self._storage_id = ""
        self._noted = 0
        self._noted_until = 0

    @property
    def info(self) -> ResourceInfo:
        """The resource info of GPUs."""
        assert self._info is not None, "the registry is not open: use it inside `async with registry:`"
        return self._info

    @property
    def storage_id(self) -> str:
        """The id of the storage. Resource versions are comparable while it stays the same."""
        assert self._storage_id, "the registry is not open: use it inside `async with registry:`"
        return self._storage_id

    @property
    def _notes(self) -> str:
        """The key prefix of notes about providers that send heartbeats. A note on a GPU would be a change of the
        GPU."""
        return f"{self.context.prefix}heartbeats/"

    @property
    def prefix(self) -> str:
        """The key prefix of GPUs in the storage."""
        return self.context.prefix + self.info.prefix("")

    async def __aenter__(self) -> DeviceRegistry:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.api)
            # Other servers on this storage may install it at the same time.
            self._storage_id = await retry_on_conflict(self._install, PATIENT, also=(AlreadyExists,))
            self._info = await self.context.catalogue.find(RESOURCE)
            self.gate.start()
            stack.callback(self.gate.stop)
            await self._restore()
            stack.push_async_callback(cancel_all, asyncio.create_task(self.heartbeats.run(), name="supervision"))
            self._exits = stack.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._exits.aclose()

    def transport(self, caller: Caller | None = None) -> Transport:
        """A transport for one caller. Raises BadRequest for an invalid provider id."""
        caller = caller or Caller()
        if caller.provider:
            check_provider(caller.provider)
        return _Transport(self, caller)

    def check(self, request: APIRequest, caller: Caller) -> None:
        """Raises ApiError for a request that is not served, or not yet."""
        if request.resource != RESOURCE:
            raise NotFound("the Device API does not serve this resource: it serves gpus.v1alpha1.device.nvidia.com")
        self.check_size(len(request.body))
        check_version(request.options.resource_version)
        if request.verb in (Verb.UPDATE, Verb.PATCH) and request.subresource not in ("", "status"):
            raise MethodNotSupported(f"a GPU has no subresource {request.subresource[:50]!r}: it has status")
        if request.verb in READS and not caller.provider:
            self.gate.check()

    def check_size(self, size: int) -> None:
        """Raises RequestTooLarge for a message that is too large to be decoded."""
        limit = _BODIES * self.options.limits.object_bytes
        if size > limit:
            raise RequestTooLarge(f"the request has {size} bytes, and the limit is {limit}")

    def heartbeat(self, provider: str, names: Sequence[str] = ()) -> bool:
        """Record a heartbeat of a provider. It covers all its conditions, also on GPUs that are not in `names`.

        After its first heartbeat a provider is lost when its heartbeats stop; a persistent storage keeps this across
        restarts. False if it was lost: its conditions are Unknown until it writes them again.
        """
        check_provider(provider)
        if len(names) > self.options.limits.objects:
            raise BadRequest(f"a heartbeat has {len(names)} GPU names, and the limit is {self.options.limits.objects}")
        return self.heartbeats.heartbeat(provider)

    async def knows(self, names: Sequence[str]) -> bool:
        """Whether all of these GPUs exist. A server on memory has no GPUs after a restart."""
        storage = self.context.storage
        return all([await storage.get(f"{self.prefix}{name}") is not None for name in names])

    async def set_condition(self, caller: Caller, name: str, condition: Mapping[str, Any]) -> Response:
        """Write one condition of a caller; its other conditions stay."""
        check_name(name)
        check_provider(caller.identity)
        self.heartbeats.seen(caller.identity)
        body = msgspec.json.encode({"status": {"conditions": [{**_NO_CONDITION, **condition}]}})
        request = APIRequest(Verb.PATCH, RESOURCE, name=name, subresource="status", body=body, user=caller.user)
        return await self.update(replace(request, content_type=PatchType.STRATEGIC.value))

    async def create(self, request: APIRequest) -> Response:
        """Create a GPU, within the limit on their number."""
        async with self._creating:
            count = await self.count()
            if count >= self.options.limits.objects and not await self.knows([_name(request.body)]):
                raise TooManyRequests(f"the limit of {count} GPUs is reached: delete one, or raise Limits.objects")
            response = await self.api.call(request)
        self.gate.open()
        metrics.UPDATES.labels("create").inc()
        return response

    async def update(self, request: APIRequest) -> Response:
        """Update or patch a GPU, or its status."""
        try:
            response = await self.api.call(request)
        except ApiError as error:
            if request.verb is not Verb.PATCH or error.status.code != InternalError.code:
                raise
            # kube-apiserver returns 500 for an unknown directive; in gRPC that would be a failure of the server.
            raise BadRequest(error.status.message) from error
        metrics.UPDATES.labels("update_status" if request.subresource else "update").inc()
        return response

    async def delete(self, request: APIRequest) -> Response:
        """Delete a GPU, with the conditions of all providers."""
        response = await self.api.call(request)
        metrics.UPDATES.labels("delete").inc()
        return response

    def inventory_complete(self) -> None:
        """All GPUs are registered, even if there are none: open the gate for reads."""
        self.gate.open()

    async def count(self) -> int:
        """How many GPUs there are."""
        snapshot = await self.context.storage.list(self.prefix, limit=1)
        return len(snapshot.entries) + snapshot.remaining

    async def _install(self) -> str:
        """Create or update the definition of GPUs. Returns its uid, which identifies the storage: the definition is
        created once."""
        wanted = definition()
        name = APIRequest(Verb.GET, CUSTOM_RESOURCE_DEFINITIONS, name=DEFINITION)
        try:
            found: dict[str, Any] = msgspec.json.decode((await self.api.call(name)).body)
        except NotFound:
            create = APIRequest(Verb.CREATE, CUSTOM_RESOURCE_DEFINITIONS, body=msgspec.json.encode(wanted))
            return objects.header((await self.api.call(create)).body).uid
        found["spec"]["versions"] = wanted["spec"]["versions"]
        await self.api.call(replace(name, verb=Verb.UPDATE, body=msgspec.json.encode(found)))
        return str(found["metadata"]["uid"])

    async def _restore(self) -> None:
        """Restore the state of the previous run: open the gate if there are GPUs, and expect the heartbeats of its
        providers."""
        if await self.count():
            self.gate.open()
        for entry in (await self.context.storage.list(self._notes)).entries:
            self.heartbeats.expect(entry.key.removeprefix(self._notes))

    async def _on_lost(self, provider: str) -> bool:
        """Set the conditions of a lost provider to Unknown; returns whether it has any."""
        message = f"no heartbeat from provider {provider!r} for {self.heartbeats.timeout:g} s"
        names = await self._names_of(provider)
        for name in names:
            if not self.heartbeats.is_lost(provider):
                return True  # it has come back in the meantime
            request = APIRequest(Verb.UPDATE, RESOURCE, name=name, subresource="status", user=SERVER)
            with suppress(NotFound):  # deleted in the meantime
                await self.api.apply(request, partial(self._mark_lost, provider, message))
        return bool(names)

    def _mark_lost(self, provider: str, message: str, gpu: Document) -> Document:
        if not self.heartbeats.is_lost(provider):
            return gpu  # it has written in the meantime: keep what it wrote
        return gpu | {"status": merging.lost(gpu.get("status", {}), provider, message, self.context.now())}

    async def _on_noted(self, provider: str, sends: bool) -> None:
        """Store whether a provider sends heartbeats."""
        key = self._notes + provider
        operation = Put(key, b"") if sends else Delete(key)
        with suppress(RevisionConflict):  # nothing to delete
            await self.context.commit(operation)
        await self._compact_notes()

    async def _compact_notes(self) -> None:
        """Compact the storage from time to time: a caller with ever new provider ids must not fill its history."""
        self._noted += 1
        if self._noted % _COMPACT_AFTER_NOTES == 0:
            before, self._noted_until = self._noted_until, self.context.storage.revision
            if before > self.context.storage.oldest:
                await self.context.storage.compact(before)

    async def _names_of(self, provider: str) -> list[str]:
        snapshot = await self.context.storage.list(self.prefix)
        documents = [records.decode(entry.value) for entry in snapshot.entries]
        return [
            document["metadata"]["name"] for document in documents if merging.owns(document.get("status", {}), provider)
        ]


class _Transport:
    """A `rest.Transport` for one caller."""

    def __init__(self, registry: DeviceRegistry, caller: Caller) -> None:
        self._registry = registry
        self._caller = caller

    async def call(self, request: APIRequest) -> Response:
        registry = self._registry
        registry.check(request, self._caller)
        if request.verb is not Verb.CREATE:
            check_name(request.name)
        if request.verb is Verb.GET:
            return await registry.api.call(request)
        registry.heartbeats.seen(self._caller.identity)
        request = replace(request, user=self._caller.user)
        match request.verb:
            case Verb.CREATE:
                return await registry.create(replace(request, body=completed(request)))
            case Verb.UPDATE:
                return await registry.update(replace(request, body=completed(request)))
            case Verb.PATCH:
                return await registry.update(request)
        return await registry.delete(request)

    async def list(self, request: APIRequest) -> Page:
        self._registry.check(request, self._caller)
        return await self._registry.api.list(request)

    @asynccontextmanager
    async def watch(self, request: APIRequest) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        self._registry.check(request, self._caller)
        check_reached(int(request.options.resource_version or "0"), self._registry.context.storage)
        async with self._registry.api.watch(request) as events:
            yield events

    async def resources(self) -> Sequence[RESTMapping]:
        return [self._registry.info.mapping]

    async def close(self) -> None:
        """There is nothing to release."""


def _name(body: bytes) -> str:
    return str(msgspec.json.decode(body)["metadata"].get("name", ""))
