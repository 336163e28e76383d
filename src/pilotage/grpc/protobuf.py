"""Classes of protobuf messages, created at run time from compiled .proto files."""

from __future__ import annotations

from typing import Any

from pilotage.errors import MissingExtra

MessageClass = Any
"""A message class: created at run time, so type checkers do not know its fields."""


def file_protos(descriptor_set: bytes, missing: MissingExtra) -> list[Any]:
    """The FileDescriptorProtos of a set; what a file imports comes before it. Raises `missing` without protobuf."""
    try:
        from google.protobuf import descriptor_pb2
    except ImportError:
        raise missing from None
    return list(descriptor_pb2.FileDescriptorSet.FromString(descriptor_set).file)


def message_classes(descriptor_set: bytes, missing: MissingExtra) -> dict[str, MessageClass]:
    """The message classes of a set, by the messages' full names. Each call has a descriptor pool of its own, because
    other sets may have the same names."""
    files = file_protos(descriptor_set, missing)
    from google.protobuf import descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    found: dict[str, MessageClass] = {}
    for file in files:
        pool.AddSerializedFile(file.SerializeToString())
        for message in file.message_type:
            full = f"{file.package}.{message.name}"
            found[full] = message_factory.GetMessageClass(pool.FindMessageTypeByName(full))
    return found
