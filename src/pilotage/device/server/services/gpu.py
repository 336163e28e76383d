"""GpuService: decodes calls into requests to the registry, and encodes the responses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from pilotage.device.server.registry import Caller, DeviceRegistry
from pilotage.device.server.resourceversions import check_version
from pilotage.device.server.services.calls import Allows, allow_all, caller_of, handled, warned
from pilotage.device.server.services.health import HealthService
from pilotage.device.server.services.provider import ProviderService
from pilotage.device.server.services.telemetry import TelemetryService
from pilotage.device.server.watchcache import WatchCache
from pilotage.device.wire import providerservice, reflection
from pilotage.device.wire.descriptors import descriptors
from pilotage.device.wire.generation import PACKAGES, STREAMS, Generation, method_path
from pilotage.device.wire.health import CHECK, WATCH
from pilotage.device.wire.options import (
    BOOKMARK_SECONDS,
    STORAGE,
    UNDERSTOOD,
    UNDERSTOOD_OPTIONS,
    page_metadata,
    unspoken,
)
from pilotage.device.wire.providerservice import provider_path
from pilotage.device.wire.server import decode_request, encode_event, encode_page, encode_response
from pilotage.errors import TooManyRequests
from pilotage.grpc.rpc import BidiHandler, Call, Handlers, Outgoing, Reply, StreamHandler, UnaryHandler, frame
from pilotage.meta import objects
from pilotage.rest import Transport
from pilotage.rest.request import APIRequest, ListOptions, Verb
from pilotage.rest.response import WatchEvent

_WHOLE = (ListOptions(), ListOptions(resource_version="0"))
"""The usual options: the newest state of all GPUs."""
_KEPT_BYTES = 1 << 20


def encode(generation: str, event: WatchEvent) -> bytes:
    """The watch cache's encoder."""
    return encode_event(Generation(generation), event)


@dataclass(frozen=True, slots=True)
class GPUService:
    """Serves one generation of the wire, under both package names."""

    registry: DeviceRegistry
    watch_cache: WatchCache
    health: HealthService
    generation: Generation = Generation.V6
    allows: Allows = allow_all

    def handlers(self) -> Handlers:
        """The handlers of all services."""
        announced = self.announced()
        answer = partial(self._call, ListCache(self.registry, self.generation), announced)
        unary: dict[str, UnaryHandler] = {CHECK: self.health.check}
        stream: dict[str, StreamHandler] = {WATCH: self.health.watch}
        for package in PACKAGES:
            for name in self.generation.methods:
                if name in STREAMS:
                    stream[method_path(name, package)] = partial(self._watch, announced)
                else:
                    unary[method_path(name, package)] = answer
        own = ProviderService(self.registry, self.allows)
        unary |= {provider_path(name): own.handler(name) for name in _PROVIDER_METHODS.get(self.generation, ())}
        unary |= TelemetryService(self.registry, self.allows).handlers()
        return Handlers(unary, stream, dict.fromkeys(reflection.METHODS, _reflect(self.generation, self.allows)))

    def announced(self) -> dict[str, str]:
        """The initial metadata of every response: what the server announces to clients."""
        return {
            UNDERSTOOD: UNDERSTOOD_OPTIONS,
            STORAGE: self.registry.storage_id,
            BOOKMARK_SECONDS: f"{self.watch_cache.options.bookmark_seconds:g}",
        }

    async def _call(self, lists: ListCache, announced: Mapping[str, str], call: Call, message: bytes) -> Reply:
        writes = call.name not in _READS
        with handled(call, self.allows, audited=writes) as outcome:
            self.registry.check_size(len(message))
            request = decode_request(self.generation, call.name, message, call.metadata)
            outcome.name = request.name or _created(request)
            caller = caller_of(call, unspoken=unspoken(self.generation, call.metadata))
            if request.verb is Verb.LIST:
                reply = await lists.answer(caller, request)
                return Reply(reply.message, {**announced, **reply.metadata})
            response = await self.registry.transport(caller).call(request)
            metadata = {**announced, **warned(response.warnings)}
            return Reply(encode_response(self.generation, call.name, response.body), metadata)

    async def _watch(self, announced: Mapping[str, str], call: Call, message: bytes, out: Outgoing) -> None:
        with handled(call, self.allows, kind="server_stream"):
            request = decode_request(self.generation, call.name, message, call.metadata)
            if not caller_of(call).provider:
                self.registry.gate.check()
            await self.watch_cache.serve(request, self.generation, out, caller=call.peer.account, metadata=announced)


_PROVIDER_METHODS: Mapping[Generation, Sequence[str]] = {
    Generation.V6: providerservice.METHODS,
    Generation.V8: ("Heartbeat",),  # the other methods' messages contain messages of V6
}
"""The methods of ProviderService; read-only generations have no such service."""
MAX_QUESTIONS = 1000
"""Requests on one reflection stream. Tools send a few."""
_READS = ("GetGpu", "ListGpus")


def _created(request: APIRequest) -> str:
    """The name of the object to be created, for the audit log."""
    return objects.header(request.body).name if request.verb is Verb.CREATE else ""


def _reflect(generation: Generation, allows: Allows) -> BidiHandler:
    """The handler of reflection, for tools without .proto files."""

    async def answer(call: Call, questions: AsyncIterator[bytes], out: Outgoing) -> None:
        with handled(call, allows, kind="bidi_stream"):
            known, asked = descriptors(generation), 0
            async for question in questions:
                if (asked := asked + 1) > MAX_QUESTIONS:
                    raise TooManyRequests(f"more than {MAX_QUESTIONS} reflection requests on one stream: open another")
                await _write(out, frame(reflection.answer(question, known)))
                await asyncio.sleep(0)  # other calls get their turn

    return answer


async def _write(out: Outgoing, message: bytes) -> None:
    while not out.write([message]):
        await out.wait_drained()


class ListCache:
    """Serves ListGpus in one generation of the wire: encoded responses are reused until a GPU changes."""

    def __init__(self, registry: DeviceRegistry, generation: Generation) -> None:
        self._registry = registry
        self._generation = generation
        self._revision = -1
        self._kept = b""

    async def answer(self, caller: Caller, request: APIRequest) -> Reply:
        """The response: the message, and as metadata what it has no field for. Raises ApiError."""
        transport = self._registry.transport(caller)
        request = self._at_most_newest(request)
        if request.options in _WHOLE:
            return Reply(await self._whole(transport, caller, request))
        page = await transport.list(request)
        return Reply(encode_page(self._generation, page), page_metadata(page))

    async def _whole(self, transport: Transport, caller: Caller, request: APIRequest) -> bytes:
        self._registry.check(request, caller)
        if await self._current() != self._revision:
            page = await transport.list(request)
            made = encode_page(self._generation, page)
            if len(made) > _KEPT_BYTES:
                return made
            self._revision, self._kept = int(page.resource_version), made
        return self._kept

    def _at_most_newest(self, request: APIRequest) -> APIRequest:
        """Replace a future resource version by none: the response is the newest state.

        kube-apiserver answers "Too large resource version", and client-go's reflector then lists without a version.
        The SDKs of V2, V3 and V6 do not pass this error on: their informers would retry the same version for ever. A
        request with `resource_version_match` is left unchanged, and our own client compares the list's version.
        """
        options = request.options
        version = options.resource_version
        check_version(version)
        if options.resource_version_match or int(version or "0") <= self._registry.context.storage.revision:
            return request
        return replace(request, options=replace(options, resource_version=""))

    async def _current(self) -> int:
        """The current version, read from the storage: another process may write to it."""
        return (await self._registry.context.storage.list(self._registry.prefix, limit=1)).revision
