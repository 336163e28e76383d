"""TelemetryService: readings for clients, and reports of providers in other processes."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.device.server.admission import check_provider
from pilotage.device.server.registry import DeviceRegistry
from pilotage.device.server.services.calls import Allows, caller_of, handled
from pilotage.device.wire import telemetry as messages
from pilotage.device.wire.generation import RESOURCE
from pilotage.errors import ServiceUnavailable
from pilotage.grpc.rpc import Call, Reply, UnaryHandler
from pilotage.meta import objects
from pilotage.rest.request import APIRequest, Verb


@dataclass(frozen=True, slots=True)
class TelemetryService:
    """Serves TelemetryService, with the gate and the roles of GpuService."""

    registry: DeviceRegistry
    allows: Allows

    def handlers(self) -> dict[str, UnaryHandler]:
        """The handlers by the methods' full names."""
        found = (self._get, self._list, self._report)
        return {messages.telemetry_path(name): handler for name, handler in zip(messages.METHODS, found, strict=True)}

    async def _get(self, call: Call, message: bytes) -> Reply:
        with handled(call, self.allows):
            name = messages.decode_get(message)
            await self.registry.transport(caller_of(call)).call(APIRequest(Verb.GET, RESOURCE, name=name))
            [found] = await self.registry.telemetry.read([name])
            if found.unavailable:
                raise ServiceUnavailable(f"no telemetry of GPU {name}: {found.unavailable}")
            return Reply(messages.encode_got(found))

    async def _list(self, call: Call, message: bytes) -> Reply:
        with handled(call, self.allows):
            messages.check_list(message)
            page = await self.registry.transport(caller_of(call)).list(APIRequest(Verb.LIST, RESOURCE))
            names = [objects.header(item).name for item in page.items]
            return Reply(messages.encode_listed(await self.registry.telemetry.read(names)))

    async def _report(self, call: Call, message: bytes) -> Reply:
        with handled(call, self.allows):
            self.registry.check_size(len(message))
            named, items = messages.decode_report(message)
            provider = caller_of(call, named).identity
            check_provider(provider)
            self.registry.telemetry.report(provider, items)
            return Reply(b"")
