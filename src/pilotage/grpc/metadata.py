"""gRPC's fields in HTTP/2 headers: metadata, deadlines, status and message."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from urllib.parse import unquote_to_bytes

from pilotage.grpc.http2.frames import block
from pilotage.grpc.rpc import Code, RPCError

CONTENT_TYPE = "application/grpc"
ANSWER = block([(":status", "200"), ("content-type", CONTENT_TYPE)])
"""The headers of every response."""
DONE = block([("grpc-status", "0")])
"""The trailers of every successful response."""

_LONGEST_MESSAGE = 1500
_LONGEST_TRAILER = 5000  # with the message below the 8 KiB of metadata that grpcio accepts by default
_KEY = re.compile(r"[0-9a-z_.-]+")
_VALUE = re.compile(r"[\x20-\x7e]*")
_TIMEOUT = re.compile(r"([0-9]{1,8})([HMSmun])")
_UNITS = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
_PLAIN = frozenset(range(0x20, 0x7F)) - {0x25}
_NAMES = re.compile(rb"(?:[\x21-\x39\x3b-\x40\x5b-\x7e]+\n)*")
_CONTROLS = re.compile(rb"[\x00\r\n]")
_RESERVED = frozenset((b"content-type", b"content-length", b"te"))
_OF_CONNECTIONS = frozenset((b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"))

_HTTP = {
    "400": Code.INTERNAL,
    "401": Code.UNAUTHENTICATED,
    "403": Code.PERMISSION_DENIED,
    "404": Code.UNIMPLEMENTED,
    "429": Code.UNAVAILABLE,
    "502": Code.UNAVAILABLE,
    "503": Code.UNAVAILABLE,
    "504": Code.UNAVAILABLE,
}


def well_formed(fields: Sequence[tuple[bytes, bytes]], pseudo: Container[bytes] = ()) -> bool:
    """Whether HTTP/2 allows these fields. Pseudo-headers must be in `pseudo`, unique, and before the other fields."""
    names = [name for name, _ in fields]
    begun = 0
    while begun < len(names) and names[begun][:1] == b":":
        if names[begun] not in pseudo or names[begun] in names[:begun]:
            return False
        begun += 1
    rest = names[begun:]
    lines = b"\n".join([*rest, b""])  # one match of all names is faster than one match each
    return (
        _NAMES.fullmatch(lines) is not None
        and lines.count(b"\n") == len(rest)
        and _OF_CONNECTIONS.isdisjoint(rest)
        and _CONTROLS.search(b"".join([value for _, value in fields])) is None
    )


def split_fields(fields: Iterable[tuple[bytes, bytes]]) -> tuple[dict[bytes, str], dict[str, str]]:
    """The fields of HTTP/2 and gRPC, and the custom metadata. The values of a repeated key are joined with a comma.

    Values of keys that end with `-bin` stay base64, as on the wire.
    """
    reserved: dict[bytes, str] = {}
    custom: dict[str, str] = {}
    for name, value in fields:
        text = value.decode("latin-1")
        if name[:1] == b":" or name[:5] == b"grpc-" or name in _RESERVED:
            reserved[name] = text
        else:
            key = name.decode("latin-1")
            custom[key] = f"{custom[key]},{text}" if key in custom else text
    return reserved, custom


def metadata_block(metadata: Mapping[str, str]) -> bytes:
    """Metadata as a header block, without spaces around values. Raises ValueError for invalid keys and values."""
    for key, value in metadata.items():
        if not _KEY.fullmatch(key) or key.startswith("grpc-"):
            raise ValueError(
                f"{key!r} is not a valid metadata key: use a-z, 0-9, '_', '-' and '.', not beginning with grpc-"
            )
        if not _VALUE.fullmatch(value):
            raise ValueError(f"the value of the metadata {key} is not printable ASCII: encode it as base64")
    return block((key, value.strip(" ")) for key, value in metadata.items())


def timeout_text(seconds: float) -> str:
    """The value of `grpc-timeout`: rounded up, in eight digits at most."""
    seconds = min(max(seconds, 0.0), 1e12)
    for unit, size in (("u", 1e-6), ("m", 1e-3), ("S", 1.0), ("M", 60.0)):
        number = math.ceil(seconds / size)
        if number < 10**8:
            return f"{number}{unit}"
    return "99999999M"


def timeout_seconds(text: str) -> float:
    """The seconds of a `grpc-timeout`. Raises ValueError."""
    match = _TIMEOUT.fullmatch(text)
    if match is None:
        raise ValueError(f"grpc-timeout {text[:40]!r} is not a number with a unit, such as 5S or 100m")
    return int(match[1]) * _UNITS[match[2]]


def failure(error: RPCError) -> list[tuple[str, str]]:
    """The trailers of a failed call. A binary trailer that is too long for clients is left out."""
    fields = [("grpc-status", str(int(error.code)))]
    if error.message:
        fields.append(("grpc-message", escaped(error.message)))
    for key, value in error.trailers.items():
        encoded = base64.b64encode(value).decode("ascii").rstrip("=")
        if len(encoded) <= _LONGEST_TRAILER:
            fields.append((key, encoded))
    return fields


def outcome(fields: Mapping[str, str]) -> RPCError | None:
    """The error in trailers (or in a response of trailers only); None for OK."""
    status = fields.get("grpc-status", "")
    if status == "0":
        return None
    message = unescaped(fields.get("grpc-message", ""))
    if not (status.isascii() and status.isdecimal()):
        return RPCError(Code.UNKNOWN, message or f"the stream ended without a status (grpc-status {status[:20]!r})")
    code = Code(int(status)) if len(status) < 3 and int(status) <= 16 else Code.UNKNOWN
    binary = {key: _binary(value) for key, value in fields.items() if key.endswith("-bin")}
    return RPCError(code, message, trailers={key: value for key, value in binary.items() if value})


def refused_by_http(fields: Mapping[str, str]) -> RPCError | None:
    """The error of a response that is not gRPC, such as a proxy's. None if it is gRPC."""
    status = fields.get(":status", "")
    if status == "200" and fields.get("content-type", "").startswith(CONTENT_TYPE):
        return None
    if status == "200":
        text = f"the content type of the response is {fields.get('content-type', 'missing')[:80]}, not {CONTENT_TYPE}"
        return RPCError(Code.UNKNOWN, f"{text}: is this a gRPC server?")
    code = _HTTP.get(status, Code.UNKNOWN)
    return RPCError(code, unescaped(fields.get("grpc-message", "")) or f"HTTP status {status[:20]}")


def escaped(text: str) -> str:
    """The percent-encoding of a message in `grpc-message`; a very long one is truncated."""
    parts: list[str] = []
    length = 0
    for character in text:
        octets = character.encode("utf-8", "replace")
        part = "".join(chr(octet) if octet in _PLAIN else f"%{octet:02X}" for octet in octets)
        length += len(part)
        if length > _LONGEST_MESSAGE:
            parts.append("...")
            break
        parts.append(part)
    return "".join(parts)


def unescaped(text: str) -> str:
    return unquote_to_bytes(text.encode("latin-1")).decode("utf-8", "replace")


def _binary(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""
