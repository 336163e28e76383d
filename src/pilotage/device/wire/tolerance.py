"""Decoding of requests of V2 and V3 by a server of V6, and checks of names.

The generations use one field number for different fields: decoded as V6, the resource version or the options of an
older client would be a namespace, and its informer would receive no events after the first list. GPUs are
cluster-scoped, so any other namespace is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pilotage.device.wire.generation import Generation
from pilotage.device.wire.messages import classes, gpu_message, parsed
from pilotage.device.wire.options import timeout
from pilotage.errors import BadRequest
from pilotage.grpc.protobuf import MessageClass
from pilotage.meta.validation.names import path_segment_name
from pilotage.rest.request import ListOptions

DEFAULT_NAMESPACE = "default"
"""Equivalent to no namespace."""
_LONGEST = 253
_OPTIONS = (b"\x0a", b"\x12")
"""The first byte of V3's options: their resource version (field 1) or namespace (field 2). No namespace starts with
it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The content of a request for one or all GPUs."""

    name: str = ""
    namespace: str = ""
    options: ListOptions = field(default=ListOptions())


def read_get(message: bytes) -> Asked:
    """A GetGpuRequest of V2, V3 or V6. Raises DecodeError and BadRequest."""
    found = parsed(_message("GetGpuRequest"), message)
    version = found.opts.resource_version
    namespace = found.namespace
    if namespace.startswith(_OPTIONS):
        older = parsed(gpu_message(Generation.V3, "GetOptions"), namespace)
        return Asked(found.name, older.namespace, ListOptions(resource_version=version or older.resource_version))
    return Asked(found.name, _text(namespace), ListOptions(resource_version=version))


def read_list(message: bytes) -> Asked:
    """A ListGpusRequest or WatchGpusRequest of V2, V3 or V6. Raises DecodeError and BadRequest."""
    found = parsed(_message("ListGpusRequest"), message)
    version, namespace = found.opts.resource_version, found.namespace
    if namespace.startswith(_OPTIONS):
        older = parsed(gpu_message(Generation.V3, "ListOptions"), namespace)
        version, text = version or older.resource_version, older.namespace
    elif namespace.isdigit():
        version, text = version or namespace.decode("ascii"), ""
    else:
        text = _text(namespace)
    wanted = ListOptions(
        resource_version=version,
        resource_version_match=found.opts.resource_version_match,
        timeout_seconds=timeout(found.opts),
    )
    return Asked("", text, wanted)


def check_name(name: str) -> None:
    """Raises BadRequest for an invalid name of a GPU."""
    problems = path_segment_name(name)
    if not name:
        problems.append("must not be empty")
    if len(name) > _LONGEST:
        problems.append(f"must be no more than {_LONGEST} characters")
    if not name.isprintable() or " " in name:
        problems.append("must be printable and without spaces")
    if problems:
        raise BadRequest(f"invalid name {name[:100]!r} of a GPU: it {', '.join(problems)}")


def check_namespace(namespace: str) -> None:
    """Raises BadRequest for a namespace other than `default`: an empty list would be misleading."""
    if len(namespace) > _LONGEST:
        raise BadRequest(f"a namespace must be no more than {_LONGEST} characters")
    if namespace not in ("", DEFAULT_NAMESPACE):
        raise BadRequest(f"GPUs are cluster-scoped: the namespace must be empty, not {namespace!r}")


def _message(name: str) -> MessageClass:
    return classes(Generation.V6.value)[f"pilotage.device.tolerant.{name}"]


def _text(namespace: bytes) -> str:
    try:
        return namespace.decode()
    except UnicodeDecodeError:
        raise BadRequest("the namespace is not UTF-8") from None
