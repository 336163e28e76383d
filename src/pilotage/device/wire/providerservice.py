"""The messages of ProviderService: the calls of providers and their responses.

Each class has the fields of its message. Statuses and conditions are plain documents, as in a GPU's JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

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
class _Message:
    """Encodes and decodes its fields, which have the same names on the wire."""

    NAME: ClassVar[str]

    def encode(self) -> bytes:
        message = _class(self.NAME)()
        for field in fields(self):
            _write(field.name, getattr(self, field.name), message)
        return encoded(message)

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Raises BadRequest."""
        message = decoded(_class(cls.NAME), data)
        return cls(**{field.name: _read(field.name, message) for field in fields(cls)})


@dataclass(frozen=True, slots=True)
class RegisterGPU(_Message):
    """A provider has found a GPU."""

    NAME = "RegisterGpuRequest"
    name: str
    uuid: str
    provider_id: str
    initial_status: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Registered(_Message):
    """The response of RegisterGPU. `created` is False if the GPU existed already."""

    NAME = "RegisterGpuResponse"
    created: bool
    resource_version: int


@dataclass(frozen=True, slots=True)
class UnregisterGPU(_Message):
    """A provider has removed a GPU."""

    NAME = "UnregisterGpuRequest"
    name: str


@dataclass(frozen=True, slots=True)
class Unregistered(_Message):
    """The response of UnregisterGPU. `deleted` is False if the GPU did not exist."""

    NAME = "UnregisterGpuResponse"
    deleted: bool


@dataclass(frozen=True, slots=True)
class UpdateGPUStatus(_Message):
    """A provider's whole status of a GPU."""

    NAME = "UpdateGpuStatusRequest"
    name: str
    status: Mapping[str, Any]
    provider_id: str


@dataclass(frozen=True, slots=True)
class UpdateGPUCondition(_Message):
    """One condition of a GPU; all others stay."""

    NAME = "UpdateGpuConditionRequest"
    name: str
    condition: Mapping[str, Any]
    provider_id: str


@dataclass(frozen=True, slots=True)
class Updated(_Message):
    """The response of UpdateGPUStatus and UpdateGPUCondition."""

    NAME = "UpdateGpuStatusResponse"
    resource_version: int


@dataclass(frozen=True, slots=True)
class Heartbeat(_Message):
    """A provider is alive and monitors these GPUs."""

    NAME = "HeartbeatRequest"
    provider_id: str
    gpu_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Acknowledged(_Message):
    """The response of Heartbeat."""

    NAME = "HeartbeatResponse"
    acknowledged: bool = True


def _class(name: str) -> Any:
    return classes(Generation.V6.value)[f"{PACKAGES[1]}.{name}"]


def _write(name: str, value: Any, message: Any) -> None:
    match name:
        case "uuid":
            message.spec.uuid = value
        case "gpu_names":
            message.gpu_names.extend(value)
        case "condition":
            message.condition.SetInParent()
            condition = documents.read_condition(msgspec.json.encode(value))
            codec(Generation.V6).write_condition(condition, message.condition)
        case "status" | "initial_status":
            if value is not None:
                status = documents.read_status(msgspec.json.encode(value))
                codec(Generation.V6).write_status(status, getattr(message, name))
        case _:
            setattr(message, name, value)


def _read(name: str, message: Any) -> Any:
    match name:
        case "name":
            check_name(message.name)
        case "uuid":
            return message.spec.uuid
        case "gpu_names":
            for gpu in message.gpu_names:
                check_name(gpu)
            return tuple(message.gpu_names)
        case "condition":
            if not message.condition.type:
                raise BadRequest("the request contains no condition with a type")
            return _document(codec(Generation.V6).read_condition, message.condition)
        case "status" | "initial_status":
            if message.HasField(name):
                return _document(codec(Generation.V6).read_status, getattr(message, name))
            if name == "status":
                raise BadRequest("the request contains no status")
            return None
    return getattr(message, name)


def _document(read: Any, message: Any) -> Mapping[str, Any]:
    try:
        found = read(message)
    except DecodeError as error:
        raise BadRequest(str(error)) from None
    document: dict[str, Any] = msgspec.json.decode(documents.write(found))
    return document
