"""Parses the headers of a call: method, metadata, timeout. Refuses headers that are not a gRPC call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pilotage.grpc.http2.frames import block
from pilotage.grpc.metadata import ANSWER, CONTENT_TYPE, failure, split_fields, timeout_seconds, well_formed
from pilotage.grpc.rpc import Call, Code, Peer, RPCError

_PSEUDO = frozenset((b":method", b":scheme", b":path", b":authority"))
_LENGTH = re.compile("[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class CallRequest:
    """The parsed headers of a call."""

    call: Call
    timeout: float | None = None
    """Seconds (grpc-timeout)."""
    length: int | None = None
    """The content-length, if the caller sent one."""


class Refusal(Exception):
    """Headers that are not a gRPC call, with the header block of the response."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        super().__init__()


class Malformed(Exception):
    """Headers that HTTP/2 does not allow."""


def parse(fields: Sequence[tuple[bytes, bytes]], peer: Peer) -> CallRequest:
    """Parse header fields. Raises Refusal and Malformed."""
    own, metadata = split_fields(fields)
    _check_form(fields, own)
    _check_http(own)
    encoding = own.get(b"grpc-encoding", "identity")
    if encoding != "identity":
        refusal = RPCError(
            Code.UNIMPLEMENTED, f"the encoding {encoding[:40]} is not supported; send messages with identity"
        )
        raise Refusal(ANSWER + block([("grpc-accept-encoding", "identity"), *failure(refusal)]))
    length = int(own[b"content-length"]) if b"content-length" in own else None
    return CallRequest(Call(own[b":path"], metadata, peer), _timeout(own.get(b"grpc-timeout")), length)


def refused(error: RPCError) -> bytes:
    """The header block of a response that consists of an error only."""
    return ANSWER + block(failure(error))


def _check_form(fields: Sequence[tuple[bytes, bytes]], own: dict[bytes, str]) -> None:
    if not well_formed(fields, _PSEUDO):
        raise Malformed("header fields that HTTP/2 does not allow")
    if not (own.get(b":method") and own.get(b":scheme") and own.get(b":path")):
        raise Malformed("a pseudo-header of the request is missing")
    if own.get(b"te", "trailers") != "trailers":
        raise Malformed("TE other than trailers")
    if not _LENGTH.fullmatch(own.get(b"content-length", "0")):
        raise Malformed("the content-length is not a number")


def _check_http(own: dict[bytes, str]) -> None:
    if own.get(b":method") != "POST":
        raise Refusal(_http("405", "this is a gRPC server; calls use the method POST"))
    content_type = own.get(b"content-type", "")
    if content_type != CONTENT_TYPE and not content_type.startswith((f"{CONTENT_TYPE}+", f"{CONTENT_TYPE};")):
        raise Refusal(_http("415", f"this is a gRPC server; the content type must be {CONTENT_TYPE}"))


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
