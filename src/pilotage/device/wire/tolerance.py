"""Requests of V2 and V3 read by a server of V6, and names that may not be.

The generations give one field number different meanings. Read naively, a resource version or the options of an older
client become a namespace, and its informer goes quiet after the first list. GPUs are cluster-scoped, so what is no
version and no options is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pilotage.device.wire.generation import Generation
from pilotage.device.wire.messages import MessageClass, classes, gpu_message, parsed
from pilotage.device.wire.options import timeout
from pilotage.errors import BadRequest
from pilotage.meta.names import path_segment_name
from pilotage.rest.request import ListOptions

DEFAULT_NAMESPACE = "default"
"""Means the same as none."""
_LONGEST = 253
_OPTIONS = (b"\x0a", b"\x12")
"""How V3's options begin: with their resource version (field 1) or their namespace (field 2). No namespace does."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request for a GPU, or for all of them, holds."""

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
    """Refuse what cannot be a GPU's name. Raises BadRequest."""
    problems = path_segment_name(name)
    if not name:
        problems.append("must not be empty")
    if len(name) > _LONGEST:
        problems.append(f"must be no more than {_LONGEST} characters")
    if not name.isprintable() or " " in name:
        problems.append("must be printable, and without blanks")
    if problems:
        raise BadRequest(f"{name[:100]!r} cannot be the name of a GPU: it {', '.join(problems)}")


def check_namespace(namespace: str) -> None:
    """Refuse every namespace but none and `default`, aloud: a list of nothing would be taken for the truth."""
    if len(namespace) > _LONGEST:
        raise BadRequest(f"a namespace must be no more than {_LONGEST} characters")
    if namespace not in ("", DEFAULT_NAMESPACE):
        raise BadRequest(f"GPUs are cluster-scoped: leave the namespace empty (it is {namespace!r})")


def _message(name: str) -> MessageClass:
    return classes(Generation.V6.value)[f"pilotage.device.tolerant.{name}"]


def _text(namespace: bytes) -> str:
    try:
        return namespace.decode()
    except UnicodeDecodeError:
        raise BadRequest("the namespace is not UTF-8") from None
