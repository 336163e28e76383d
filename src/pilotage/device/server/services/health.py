"""gRPC's health service: SERVING once the gate is open, NOT_SERVING before that and during shutdown."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pilotage.device.server import metrics
from pilotage.device.server.services.calls import allow_all, handled
from pilotage.device.wire import health
from pilotage.device.wire.health import ServingStatus
from pilotage.grpc.rpc import Call, Code, Outgoing, Reply, RPCError, frame

LIVENESS = "liveness"
"""The service name for liveness probes: SERVING also before the gate is open."""
MAX_WATCHES = 256


class HealthService:
    """The serving status, for Check and Watch."""

    def __init__(self, services: Sequence[str]) -> None:
        self._services = frozenset(("", "readiness", *services))
        self._named = tuple(services)
        self._alive = True
        self._ready = False
        self._changed = asyncio.Event()
        self._watches = 0
        self._publish()

    @property
    def is_ready(self) -> bool:
        return self._ready

    def serve(self) -> None:
        """Set the status to SERVING."""
        if self._alive:
            self._set(ready=True)

    def shut_down(self) -> None:
        """Set the status to NOT_SERVING permanently."""
        self._alive = False
        self._set(ready=False)

    def status(self, service: str) -> ServingStatus:
        """The status of a service; SERVICE_UNKNOWN if there is no such service."""
        if service == LIVENESS:
            return ServingStatus.SERVING
        if service not in self._services:
            return ServingStatus.SERVICE_UNKNOWN
        return ServingStatus.SERVING if self._ready else ServingStatus.NOT_SERVING

    async def check(self, call: Call, message: bytes) -> Reply:
        """A `rpc.UnaryHandler`."""
        with handled(call, allow_all):
            service = health.decode_request(message)
            status = self.status(service)
            if status is ServingStatus.SERVICE_UNKNOWN:
                raise RPCError(Code.NOT_FOUND, f"unknown service {service[:200]!r}")
            return Reply(health.encode_response(status))

    async def watch(self, call: Call, message: bytes, out: Outgoing) -> None:
        """A `rpc.StreamHandler`: sends the status now and after each change. Ends at shutdown."""
        with handled(call, allow_all, kind="server_stream"):
            service = health.decode_request(message)
            if self._watches >= MAX_WATCHES:
                raise RPCError(
                    Code.RESOURCE_EXHAUSTED, f"the limit of {MAX_WATCHES} health watches is reached; retry later"
                )
            self._watches += 1
            try:
                await self._send_changes(service, out)
            finally:
                self._watches -= 1

    async def _send_changes(self, service: str, out: Outgoing) -> None:
        sent: ServingStatus | None = None
        while True:
            changed, status = self._changed, self.status(service)
            if status is not sent:
                sent = status
                while not out.write([frame(health.encode_response(status))]):
                    await out.wait_drained()
            if not self._alive:
                return
            await changed.wait()

    def _set(self, *, ready: bool) -> None:
        self._ready = ready
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        self._publish()

    def _publish(self) -> None:
        for service in self._named:
            metrics.SERVICE_STATUS.labels(service).set(float(self._ready))
