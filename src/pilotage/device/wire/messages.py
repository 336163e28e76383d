"""The classes of protobuf messages, created from the descriptor sets on first use.

Each set has a descriptor pool of its own, because all generations have the same message names.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pilotage.device.wire.generation import PACKAGES, Generation
from pilotage.errors import BadRequest, DecodeError, MissingExtra
from pilotage.grpc import protobuf
from pilotage.grpc.protobuf import MessageClass, message_classes

GRPC = "grpc"
"""The set with gRPC's own services: health and reflection."""
TELEMETRY = "telemetry"
"""The set with Pilotage's own service."""


@cache
def classes(name: str) -> dict[str, MessageClass]:
    """The message classes of a set, by the messages' full names."""
    return message_classes(_set(name), MissingExtra("the Device API", "device"))


def file_protos(name: str) -> list[Any]:
    """The FileDescriptorProtos of a set; what a file imports comes before it."""
    return protobuf.file_protos(_set(name), MissingExtra("the Device API", "device"))


def gpu_message(generation: Generation, name: str) -> MessageClass:
    """A message class of a generation's GpuService."""
    return classes(generation.value)[f"{PACKAGES[0]}.{name}"]


def parsed(message_class: MessageClass, data: bytes) -> Any:
    """A message from its bytes. Raises DecodeError."""
    from google.protobuf.message import DecodeError as Undecodable

    try:
        return message_class.FromString(data)
    except (Undecodable, UnicodeDecodeError, RecursionError) as error:
        name = message_class.DESCRIPTOR.name
        raise DecodeError(
            f"cannot decode {len(data)} bytes as {name} ({error}); does the peer use another wire generation of the "
            "Device API?"
        ) from None


def decoded(message_class: MessageClass, data: bytes) -> Any:
    """A message that a client has sent. Raises BadRequest."""
    try:
        return parsed(message_class, data)
    except DecodeError as error:
        raise BadRequest(str(error)) from None


def encoded(message: Any, *, deterministic: bool = False) -> bytes:
    """The bytes of a message; `deterministic` orders the entries of maps."""
    data: bytes = message.SerializeToString(deterministic=deterministic)
    return data


def _set(name: str) -> bytes:
    from pilotage.device.wire.generated.descriptors import SETS

    return SETS[name]
