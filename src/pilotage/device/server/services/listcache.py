"""Encoded responses of ListGpus, reused until a GPU changes."""

from __future__ import annotations

from msgspec.structs import replace

from pilotage.device import wire
from pilotage.device.server.registry import Caller, DeviceRegistry
from pilotage.device.server.resourceversions import check_version
from pilotage.device.wire import Generation
from pilotage.grpc.rpc import Reply
from pilotage.rest import Transport
from pilotage.rest.request import APIRequest, ListOptions

_WHOLE = (ListOptions(), ListOptions(resource_version="0"))
"""The usual options: the newest state of all GPUs."""
_KEPT_BYTES = 1 << 20


class ListCache:
    """Serves ListGpus in one generation of the wire."""

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
        return Reply(wire.encode_page(self._generation, page), wire.page_metadata(page))

    async def _whole(self, transport: Transport, caller: Caller, request: APIRequest) -> bytes:
        self._registry.check(request, caller)
        if await self._current() != self._revision:
            page = await transport.list(request)
            made = wire.encode_page(self._generation, page)
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
