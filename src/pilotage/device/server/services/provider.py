"""ProviderService: the calls of providers, as requests to the same registry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from pilotage.device.server.registry import DeviceRegistry
from pilotage.device.server.services.calls import Allows, CallOutcome, caller_of, handled, warned
from pilotage.device.wire import providerservice as messages
from pilotage.device.wire.generation import KIND, RESOURCE
from pilotage.errors import AlreadyExists, NotFound
from pilotage.grpc.rpc import Call, Reply, UnaryHandler
from pilotage.meta import objects
from pilotage.rest.request import APIRequest, Verb
from pilotage.rest.response import Response

_Answer = Callable[[Call, bytes, CallOutcome], Awaitable[bytes]]


class ProviderService:
    """Serves the calls of providers. The provider id of a message takes precedence over the provider id in the
    metadata."""

    def __init__(self, registry: DeviceRegistry, allows: Allows) -> None:
        self._registry = registry
        self._allows = allows
        self._answers: dict[str, _Answer] = {
            "RegisterGpu": self._register,
            "UnregisterGpu": self._unregister,
            "UpdateGpuStatus": self._update_status,
            "UpdateGpuCondition": self._update_condition,
            "Heartbeat": self._heartbeat,
        }

    def handler(self, name: str) -> UnaryHandler:
        """The handler of a method."""
        answer, audited = self._answers[name], name != "Heartbeat"

        async def handle(call: Call, message: bytes) -> Reply:
            with handled(call, self._allows, audited=audited) as outcome:
                self._registry.check_size(len(message))
                data = await answer(call, message, outcome)
                return Reply(data, warned(outcome.warnings))

        return handle

    async def _register(self, call: Call, message: bytes, outcome: CallOutcome) -> bytes:
        """Register a GPU. Idempotent: a restarted provider registers its GPUs again."""
        asked = messages.RegisterGPU.decode(message)
        outcome.name, outcome.provider = asked.name, asked.provider_id
        document = {"metadata": {"name": asked.name}, "spec": {"uuid": asked.uuid}}
        if asked.initial_status is not None:
            document["status"] = dict(asked.initial_status)
        transport = self._registry.transport(caller_of(call, asked.provider_id))
        created = True
        try:
            response = await transport.call(APIRequest(Verb.CREATE, RESOURCE, body=_body(document)))
        except AlreadyExists:
            created = False
            if asked.initial_status is None:
                response = await self._registry.api.call(APIRequest(Verb.GET, RESOURCE, name=asked.name))
            else:
                response = await transport.call(_status_update(asked.name, document))
                outcome.warnings = response.warnings
        return messages.Registered(created, _version(response)).encode()

    async def _unregister(self, call: Call, message: bytes, outcome: CallOutcome) -> bytes:
        asked = messages.UnregisterGPU.decode(message)
        outcome.name = asked.name
        try:
            await self._registry.transport(caller_of(call)).call(APIRequest(Verb.DELETE, RESOURCE, name=asked.name))
        except NotFound:
            return messages.Unregistered(False).encode()
        return messages.Unregistered(True).encode()

    async def _update_status(self, call: Call, message: bytes, outcome: CallOutcome) -> bytes:
        asked = messages.UpdateGPUStatus.decode(message)
        outcome.name, outcome.provider = asked.name, asked.provider_id
        transport = self._registry.transport(caller_of(call, asked.provider_id))
        document = {"metadata": {"name": asked.name}, "status": dict(asked.status)}
        response = await transport.call(_status_update(asked.name, document))
        outcome.warnings = response.warnings
        return messages.Updated(_version(response)).encode()

    async def _update_condition(self, call: Call, message: bytes, outcome: CallOutcome) -> bytes:
        asked = messages.UpdateGPUCondition.decode(message)
        outcome.name, outcome.provider = asked.name, asked.provider_id
        caller = caller_of(call, asked.provider_id)
        response = await self._registry.set_condition(caller, asked.name, dict(asked.condition))
        outcome.warnings = response.warnings
        return messages.Updated(_version(response)).encode()

    async def _heartbeat(self, call: Call, message: bytes, outcome: CallOutcome) -> bytes:
        asked = messages.Heartbeat.decode(message)
        provider = caller_of(call, asked.provider_id).identity
        accepted = self._registry.heartbeat(provider, asked.gpu_names)
        return messages.Acknowledged(accepted and await self._registry.knows(asked.gpu_names)).encode()


def _status_update(name: str, document: Mapping[str, object]) -> APIRequest:
    return APIRequest(Verb.UPDATE, RESOURCE, name=name, subresource="status", body=_body(document))


def _body(document: Mapping[str, object]) -> bytes:
    return msgspec.json.encode({"apiVersion": KIND.api_version, "kind": KIND.kind, **document})


def _version(response: Response) -> int:
    return int(objects.header(response.body).resource_version)
