"""The calls of TelemetryService, an extension of the Device API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pilotage.device.client.transport import DeviceTransport
from pilotage.device.codes import NO_TELEMETRY
from pilotage.device.telemetry import Telemetry
from pilotage.device.wire import telemetry as messages
from pilotage.device.wire.generation import RESOURCE
from pilotage.errors import MethodNotSupported
from pilotage.rest import APIRequest, Verb


@dataclass(frozen=True, slots=True)
class TelemetryClient:
    """Reads and reports telemetry. Raises MethodNotSupported if the server does not have the service."""

    transport: DeviceTransport

    async def get(self, name: str) -> Telemetry:
        request = APIRequest(Verb.GET, RESOURCE, name=name)
        return messages.decode_got(await self._call("GetTelemetry", messages.encode_get(name), request))

    async def list(self) -> Sequence[Telemetry]:
        request = APIRequest(Verb.LIST, RESOURCE)
        return messages.decode_listed(await self._call("ListTelemetry", messages.encode_list(), request))

    async def report(self, provider: str, items: Sequence[Telemetry]) -> None:
        """Report readings, in calls of at most MAX_ITEMS."""
        for start in range(0, len(items), messages.MAX_ITEMS):
            part = messages.encode_report(provider, items[start : start + messages.MAX_ITEMS])
            await self._call("ReportTelemetry", part, APIRequest(Verb.CREATE, RESOURCE))

    async def _call(self, method: str, message: bytes, request: APIRequest) -> bytes:
        try:
            return (await self.transport.invoke(messages.telemetry_path(method), message, request)).message
        except MethodNotSupported:
            raise MethodNotSupported(NO_TELEMETRY) from None
