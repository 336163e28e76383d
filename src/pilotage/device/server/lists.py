"""Answers to ListGpus: made once for as long as nothing changes, however many ask."""

from __future__ import annotations

from pilotage.device import wire
from pilotage.device.rpc import Reply
from pilotage.device.server.service import Caller, DeviceService
from pilotage.device.wire import Generation
from pilotage.rest import Transport
from pilotage.rest.request import ListOptions, Request

_WHOLE = (ListOptions(), ListOptions(resource_version="0"))
"""How most ask: for all there is now."""
_KEPT_BYTES = 1 << 20


class Lists:
    """Lists in one generation of the wire."""

    def __init__(self, service: DeviceService, generation: Generation) -> None:
        self._service = service
        self._generation = generation
        self._revision = -1
        self._kept = b""

    async def answer(self, caller: Caller, request: Request) -> Reply:
        """The message that answers, and what it has no field for. Raises ApiError."""
        transport = self._service.transport(caller)
        if request.options in _WHOLE:
            return Reply(await self._whole(transport, caller, request))
        page = await transport.list(request)
        return Reply(wire.encode_page(self._generation, page), wire.page_metadata(page))

    async def _whole(self, transport: Transport, caller: Caller, request: Request) -> bytes:
        self._service.check(request, caller)
        if await self._current() != self._revision:
            page = await transport.list(request)
            made = wire.encode_page(self._generation, page)
            if len(made) > _KEPT_BYTES:
                return made
            self._revision, self._kept = int(page.resource_version), made
        return self._kept

    async def _current(self) -> int:
        """The version now: asked of the storage, which may be another process's too."""
        return (await self._service.house.storage.list(self._service.prefix, limit=1)).revision
