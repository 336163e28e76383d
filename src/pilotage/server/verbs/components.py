"""ComponentStatuses: whether the parts of a control plane are healthy, asked at the moment of the request.

As kube-apiserver does it, the scheduler and the controller manager are looked for on the loopback address.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec

from pilotage.errors import ConnectionLost, NotFound, PilotageError, StatusDetails
from pilotage.rest.request import APIRequest
from pilotage.rest.response import Page, Response
from pilotage.server.context import RegistryContext
from pilotage.server.resources import ResourceInfo
from pilotage.server.verbs.read import check_list_options, shaped
from pilotage.server.verbs.selection import Selection
from pilotage.storage.interface import Entry

STORAGE = "etcd-0"
PORTS = {"scheduler": 10259, "controller-manager": 10257}
_HOST = "127.0.0.1"
_PROBE_SECONDS = 5.0


class Components:
    """Answers get and list."""

    def __init__(self, context: RegistryContext) -> None:
        self._context = context

    async def get(self, info: ResourceInfo, request: APIRequest) -> Response:
        """One component. Raises NotFound if a control plane has no component of this name."""
        name = request.name
        if name not in (*PORTS, STORAGE):
            message = f'componentstatus "{name}" not found'
            raise NotFound(message, details=StatusDetails(name=name, kind="componentstatus"))
        return Response(shaped(info, await self._status(name), request.form), warnings=info.warnings)

    async def list(self, info: ResourceInfo, request: APIRequest) -> Page:
        """All components that the request selects; they have no version."""
        selection = Selection.of(info, request.options, check_list_options)
        found = [shaped(info, data, request.form) async for data in self._selected(selection)]
        return Page(found, "", warnings=info.warnings, list_kind="ComponentStatusList")

    async def _selected(self, selection: Selection) -> AsyncIterator[bytes]:
        for name in (*PORTS, STORAGE):
            data = await self._status(name)
            if selection.matches(Entry(name, data, 0, 0)):
                yield data

    async def _status(self, name: str) -> bytes:
        problem = await self._storage_problem() if name == STORAGE else await _problem(PORTS[name])
        condition = {"type": "Healthy", "status": "False" if problem else "True", "message": problem or "ok"}
        document = {"apiVersion": "v1", "kind": "ComponentStatus", "metadata": {"name": name}}
        return msgspec.json.encode(document | {"conditions": [condition]})

    async def _storage_problem(self) -> str:
        try:
            await self._context.storage.check()
        except PilotageError as error:
            return str(error)
        return ""


async def _problem(port: int) -> str:
    """Why the component on a port is not healthy; empty if it is."""
    from pilotage.http import tls  # with TLS: few ask for components
    from pilotage.http.client import HTTPClient

    address = f"{_HOST}:{port}"
    try:
        async with (
            asyncio.timeout(_PROBE_SECONDS),
            HTTPClient(_HOST, port, ssl=tls.client_context(verify=False)) as client,
        ):
            answer = await client.request("GET", "/healthz")
    except (ConnectionLost, TimeoutError) as error:
        reason = "connect: connection refused" if isinstance(error, ConnectionLost) else "i/o timeout"
        return f'Get "https://{address}/healthz": dial tcp {address}: {reason}'
    return "" if answer.status == 200 else f"unhealthy http status code: {answer.status}"
