"""A call's headers, read: what is called, with which metadata, until when. And what is no call at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pilotage.grpc.frames import block
from pilotage.grpc.metadata import ANSWER, CONTENT_TYPE, failure, timeout_seconds, well_formed
from pilotage.grpc.rpc import Call, Code, Peer, RPCError

_OWN = frozenset((b"content-type", b"content-length", b"te"))
_PSEUDO = frozenset((b":method", b":scheme", b":path", b":authority"))
_LENGTH = re.compile("[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Request:
    call: Call
    timeout: float | None = None
    """Seconds, as the caller asked for."""
    length: int | None = None
    """How many bytes its messages have, where the caller says."""


class Refusal(Exception):
    """Headers that are no call, with the header block that says so."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        super().__init__()


class Malformed(Exception):
    """Headers that HTTP/2 does not allow."""


def read(fields: Sequence[tuple[bytes, bytes]], peer: Peer) -> Request:
    """Raises Refusal and Malformed."""
    own: dict[bytes, str] = {}
    metadata: dict[str, str] = {}
    for name, value in fields:
        text = value.decode("latin-1")
        if name[:1] == b":" or name[:5] == b"grpc-" or name in _OWN:
            own[name] = text
        else:
            key = name.decode("latin-1")
            metadata[key] = f"{metadata[key]},{text}" if key in metadata else text
    _check_form(fields, own)
    _check_http(own)
    encoding = own.get(b"grpc-encoding", "identity")
    if encoding != "identity":
        refusal = RPCError(
            Code.UNIMPLEMENTED, f"messages compressed with {encoding[:40]} are not understood: send identity"
        )
        raise Refusal(ANSWER + block([("grpc-accept-encoding", "identity"), *failure(refusal)]))
    length = int(own[b"content-length"]) if b"content-length" in own else None
    return Request(Call(own[b":path"], metadata, peer), _timeout(own.get(b"grpc-timeout")), length)


def refused(error: RPCError) -> bytes:
    """The header block of an answer that is only a refusal."""
    return ANSWER + block(failure(error))


def _check_form(fields: Sequence[tuple[bytes, bytes]], own: dict[bytes, str]) -> None:
    if not well_formed(fields, _PSEUDO):
        raise Malformed("fields that HTTP/2 does not have, or not there")
    if not (own.get(b":method") and own.get(b":scheme") and own.get(b":path")):
        raise Malformed("no request")
    if own.get(b"te", "trailers") != "trailers":
        raise Malformed("TE other than trailers")
    if not _LENGTH.fullmatch(own.get(b"content-length", "0")):
        raise Malformed("a content-length that is none")


def _check_http(own: dict[bytes, str]) -> None:
    if own.get(b":method") != "POST":
        raise Refusal(_http("405", "gRPC is spoken here: calls are sent with POST"))
    content_type = own.get(b"content-type", "")
    if content_type != CONTENT_TYPE and not content_type.startswith((f"{CONTENT_TYPE}+", f"{CONTENT_TYPE};")):
        raise Refusal(_http("415", f"gRPC is spoken here: the content type is {CONTENT_TYPE}"))


def _http(status: str, text: str) -> bytes:
    error = RPCError(Code.INTERNAL, text)
    return block([(":status", status), ("content-type", CONTENT_TYPE), *failure(error)])


def _timeout(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return timeout_seconds(text)
    except ValueError as error:
        raise Refusal(refused(RPCError(Code.INVALID_ARGUMENT, str(error)))) from error
