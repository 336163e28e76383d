"""The messages of ProviderService: the calls of providers and their responses.

Statuses and conditions are plain documents, as in a GPU's JSON. `decode` raises BadRequest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from pilotage.device.wire import documents
from pilotage.device.wire.generation import PACKAGES, Generation, method_path
from pilotage.device.wire.messages import classes, decoded, encoded
from pilotage.device.wire.objects import codec
from pilotage.device.wire.tolerance import check_name
from pilotage.errors import BadRequest, DecodeError

SERVICE = "ProviderService"
METHODS = ("RegisterGpu", "UnregisterGpu", "UpdateGpuStatus", "UpdateGpuCondition", "Heartbeat")


def provider_path(name: str) -> str:
    """A method in full: `/nvidia.device.v1alpha1.ProviderService/Heartbeat`."""
    return method_path(name, PACKAGES[1], SERVICE)


@dataclass(frozen=True, slots=True)
class RegisterGPU:
    """A provider has found a GPU."""

    name: str
    uuid: str
    provider_id: str
    initial_status: Mapping[str, Any] | None = None

    def encode(self) -> bytes:
        message = _new("RegisterGpuRequest", name=self.name, provider_id=self.provider_id)
        message.spec.uuid = self.uuid
        if self.initial_status is not None:
            _write_status(self.initial_status, message.initial_status)
        return encoded(message)

    @classmethod
    def decode(cls, data: bytes) -> RegisterGPU:
        message = _read("RegisterGpuRequest", data)
        check_name(message.name)
        status = _status(message.initial_status) if message.HasField("initial_status") else None
        return cls(message.name, message.spec.uuid, message.provider_id, status)


@dataclass(frozen=True, slots=True)
class Registered:
    """The response of RegisterGPU. `created` is False if the GPU existed already."""

    created: bool
    resource_version: int

    def encode(self) -> bytes:
        return encoded(_new("RegisterGpuResponse", created=self.created, resource_version=self.resource_version))

    @classmethod
    def decode(cls, data: bytes) -> Registered:
        message = _read("RegisterGpuResponse", data)
        return cls(message.created, message.resource_version)


@dataclass(frozen=True, slots=True)
class UnregisterGPU:
    """A provider has removed a GPU."""

    name: str

    def encode(self) -> bytes:
        return encoded(_new("UnregisterGpuRequest", name=self.name))

    @classmethod
    def decode(cls, data: bytes) -> UnregisterGPU:
        message = _read("UnregisterGpuRequest", data)
        check_name(message.name)
        return cls(message.name)


@dataclass(frozen=True, slots=True)
class Unregistered:
    """The response of UnregisterGPU. `deleted` is False if the GPU did not exist."""

    deleted: bool

    def encode(self) -> bytes:
        return encoded(_new("UnregisterGpuResponse", deleted=self.deleted))

    @classmethod
    def decode(cls, data: bytes) -> Unregistered:
        return cls(_read("UnregisterGpuResponse", data).deleted)


@dataclass(frozen=True, slots=True)
class UpdateGPUStatus:
    """A provider's whole status of a GPU."""

    name: str
    status: Mapping[str, Any]
    provider_id: str

    def encode(self) -> bytes:
        message = _new("UpdateGpuStatusRequest", name=self.name, provider_id=self.provider_id)
        _write_status(self.status, message.status)
        return encoded(message)

    @classmethod
    def decode(cls, data: bytes) -> UpdateGPUStatus:
        message = _read("UpdateGpuStatusRequest", data)
        check_name(message.name)
        if not message.HasField("status"):
            raise BadRequest("the request contains no status")
        return cls(message.name, _status(message.status), message.provider_id)


@dataclass(frozen=True, slots=True)
class UpdateGPUCondition:
    """One condition of a GPU; all others stay."""

    name: str
    condition: Mapping[str, Any]
    provider_id: str

    def encode(self) -> bytes:
        message = _new("UpdateGpuConditionRequest", name=self.name, provider_id=self.provider_id)
        condition = documents.read_condition(msgspec.json.encode(self.condition))
        message.condition.SetInParent()
        codec(Generation.V6).write_condition(condition, message.condition)
        return encoded(message)

    @classmethod
    def decode(cls, data: bytes) -> UpdateGPUCondition:
        message = _read("UpdateGpuConditionRequest", data)
        check_name(message.name)
        if not message.condition.type:
            raise BadRequest("the request contains no condition with a type")
        return cls(message.name, _condition(message.condition), message.provider_id)


@dataclass(frozen=True, slots=True)
class Updated:
    """The response of UpdateGPUStatus and UpdateGPUCondition."""

    resource_version: int

    def encode(self) -> bytes:
        return encoded(_new("UpdateGpuStatusResponse", resource_version=self.resource_version))

    @classmethod
    def decode(cls, data: bytes) -> Updated:
        return cls(_read("UpdateGpuStatusResponse", data).resource_version)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A provider is alive and monitors these GPUs."""

    provider_id: str
    gpu_names: tuple[str, ...] = ()

    def encode(self) -> bytes:
        return encoded(_new("HeartbeatRequest", provider_id=self.provider_id, gpu_names=self.gpu_names))

    @classmethod
    def decode(cls, data: bytes) -> Heartbeat:
        message = _read("HeartbeatRequest", data)
        for name in message.gpu_names:
            check_name(name)
        return cls(message.provider_id, tuple(message.gpu_names))


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The response of Heartbeat."""

    acknowledged: bool = True

    def encode(self) -> bytes:
        return encoded(_new("HeartbeatResponse", acknowledged=self.acknowledged))

    @classmethod
    def decode(cls, data: bytes) -> Acknowledged:
        return cls(_read("HeartbeatResponse", data).acknowledged)


def _class(name: str) -> Any:
    return classes(Generation.V6.value)[f"{PACKAGES[1]}.{name}"]


def _new(name: str, /, **fields: object) -> Any:
    return _class(name)(**fields)


def _read(name: str, data: bytes) -> Any:
    return decoded(_class(name), data)


def _write_status(status: Mapping[str, Any], message: Any) -> None:
    codec(Generation.V6).write_status(documents.read_status(msgspec.json.encode(status)), message)


def _status(message: Any) -> Mapping[str, Any]:
    return _document(codec(Generation.V6).read_status, message)


def _condition(message: Any) -> Mapping[str, Any]:
    return _document(codec(Generation.V6).read_condition, message)


def _document(read: Any, message: Any) -> Mapping[str, Any]:
    try:
        found = read(message)
    except DecodeError as error:
        raise BadRequest(str(error)) from None
    document: dict[str, Any] = msgspec.json.decode(documents.write(found))
    return document
