"""gRPC's reflection service as a function from request to response. v1 and v1alpha have the same messages."""

from __future__ import annotations

from typing import Any

from pilotage.device.wire.descriptors import Descriptors
from pilotage.device.wire.generation import method_path
from pilotage.device.wire.messages import GRPC, classes, parsed

_NAME = "ServerReflection"
_PACKAGES = ("grpc.reflection.v1", "grpc.reflection.v1alpha")
METHODS = tuple(method_path("ServerReflectionInfo", package, _NAME) for package in _PACKAGES)
"""Bidirectional streams: one response for each request."""

_NOT_FOUND = 5
_UNIMPLEMENTED = 12


def answer(message: bytes, known: Descriptors) -> bytes:
    """The response to a request. Raises DecodeError."""
    asked = parsed(_class("Request"), message)
    response = _class("Response")(valid_host=asked.host, original_request=asked)
    _FILLERS.get(asked.WhichOneof("message_request"), _unknown)(asked, response, known)
    data: bytes = response.SerializeToString()
    return data


def _class(name: str) -> Any:
    return classes(GRPC)[f"{_PACKAGES[0]}.{_NAME}{name}"]


def _add_files(found: list[bytes], asked: str, response: Any) -> None:
    if found:
        response.file_descriptor_response.file_descriptor_proto.extend(found)
    else:
        _set_error(response, _NOT_FOUND, f"not found: {asked[:200]}")


def _by_name(asked: Any, response: Any, known: Descriptors) -> None:
    _add_files(known.by_name(asked.file_by_filename), asked.file_by_filename, response)


def _by_symbol(asked: Any, response: Any, known: Descriptors) -> None:
    _add_files(known.containing(asked.file_containing_symbol), asked.file_containing_symbol, response)


def _add_services(asked: Any, response: Any, known: Descriptors) -> None:
    response.list_services_response.SetInParent()
    for name in known.services:
        response.list_services_response.service.add().name = name


def _extension(asked: Any, response: Any, known: Descriptors) -> None:
    _set_error(response, _NOT_FOUND, "there are no extensions")


def _unknown(asked: Any, response: Any, known: Descriptors) -> None:
    _set_error(response, _UNIMPLEMENTED, "unknown request")


def _set_error(response: Any, code: int, text: str) -> None:
    response.error_response.error_code, response.error_response.error_message = code, text


_FILLERS = {
    "file_by_filename": _by_name,
    "file_containing_symbol": _by_symbol,
    "file_containing_extension": _extension,
    "all_extension_numbers_of_type": _extension,
    "list_services": _add_services,
}
