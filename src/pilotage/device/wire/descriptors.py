"""The .proto files of a server's services for reflection: by file name, and by symbol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from pilotage.device.wire.generation import PACKAGES, SERVICE, Generation
from pilotage.device.wire.messages import GRPC, TELEMETRY, file_protos

_PRIVATE = ("tolerant.proto",)
"""Messages that are never sent."""


@dataclass(frozen=True, slots=True)
class DescribedFile:
    """A serialised FileDescriptorProto and its symbols."""

    name: str
    data: bytes
    imports: tuple[str, ...]
    services: tuple[str, ...]
    symbols: frozenset[str]
    """Messages, enums, services, methods and fields, by their full names."""


@dataclass(frozen=True, slots=True)
class Descriptors:
    """The files of one server."""

    files: dict[str, DescribedFile]

    @property
    def services(self) -> tuple[str, ...]:
        """The full names of all services, sorted."""
        return tuple(sorted(name for file in self.files.values() for name in file.services))

    def by_name(self, name: str) -> list[bytes]:
        """A file and its imports; empty if there is no such file."""
        return [file.data for file in self._with_imports(name, set())]

    def containing(self, symbol: str) -> list[bytes]:
        """The file of a symbol and its imports; empty if there is no such symbol."""
        for file in self.files.values():
            if symbol in file.symbols:
                return self.by_name(file.name)
        return []

    def _with_imports(self, name: str, seen: set[str]) -> Iterator[DescribedFile]:
        if name in seen or name not in self.files:
            return
        seen.add(name)
        yield self.files[name]
        for imported in self.files[name].imports:
            yield from self._with_imports(imported, seen)


@cache
def descriptors(generation: Generation) -> Descriptors:
    """The services of a server of one generation: GpuService under both package names, telemetry, health and
    reflection.

    V6 also has ProviderService. Its messages contain messages of V6, so other generations cannot describe it: a name
    has one meaning in a set of files.
    """
    own = [file for file in file_protos(generation.value) if file.name not in _PRIVATE]
    taken = {message.name for file in own if file.package == PACKAGES[1] for message in file.message_type}
    again = [_renamed(file, taken) for file in own if file.package == PACKAGES[0]]
    return Descriptors(
        {file.name: _described(file) for file in [*own, *again, *file_protos(TELEMETRY), *file_protos(GRPC)]}
    )


def _renamed(file: Any, taken: set[str]) -> Any:
    """The same file in the second package. A message with a conflicting name is renamed: names are not on the wire."""
    first, second = (f".{package}." for package in PACKAGES)
    names = {f"{first}{name}": f"{second}{SERVICE}{name}" for name in taken}

    def renamed(name: str) -> str:
        return names.get(name) or name.replace(first, second)

    copy = type(file).FromString(file.SerializeToString())
    copy.package, copy.name = PACKAGES[1], f"device/{file.name}"
    for message in copy.message_type:
        message.name = renamed(f"{first}{message.name}").removeprefix(second)
    for field in (field for message in _messages(copy.message_type) for field in message.field):
        if field.type_name:
            field.type_name = renamed(field.type_name)
    for method in (method for service in copy.service for method in service.method):
        method.input_type, method.output_type = renamed(method.input_type), renamed(method.output_type)
    return copy


def _messages(found: Iterable[Any]) -> Iterator[Any]:
    for message in found:
        yield message
        yield from _messages(message.nested_type)


def _described(file: Any) -> DescribedFile:
    return DescribedFile(
        name=file.name,
        data=file.SerializeToString(),
        imports=tuple(file.dependency),
        services=tuple(f"{file.package}.{service.name}" for service in file.service),
        symbols=frozenset(_symbols(file)),
    )


def _symbols(file: Any) -> Iterator[str]:
    for service in file.service:
        name = f"{file.package}.{service.name}"
        yield name
        yield from (f"{name}.{method.name}" for method in service.method)
    yield from _names(file.package, file.message_type)
    yield from (f"{file.package}.{enum.name}" for enum in file.enum_type)


def _names(scope: str, found: Iterable[Any]) -> Iterator[str]:
    for message in found:
        name = f"{scope}.{message.name}"
        yield name
        yield from (f"{name}.{field.name}" for field in message.field)
        yield from (f"{name}.{enum.name}" for enum in message.enum_type)
        yield from _names(name, message.nested_type)
