"""A call's headers, read: what is called, with which metadata, until when. And what is no call at all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pilotage.device.grpc.frames import block
from pilotage.device.grpc.metadata import ANSWER, CONTENT_TYPE, failure, timeout_seconds
from pilotage.device.rpc import Call, Code, Peer, RPCError

_OWN = frozenset((b"content-type", b"te"))
_PSEUDO = frozenset((b":method", b":scheme", b":path", b":authority"))
_OF_CONNECTIONS = frozenset((b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"))


@dataclass(frozen=True, slots=True)
class Request:
    call: Call
    timeout: float | None = None
    """Seconds, as the caller asked for."""


class Refusal(Exception):
    """Headers that are no call, with the header block that says so."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        super().__init__()


class Malformed(Exception):
    """Headers that HTTP/2 does not allow."""


def read(fields: Iterable[tuple[bytes, bytes]], peer: Peer) -> Request:
    """Raises Refusal and Malformed."""
    own: dict[bytes, str] = {}
    metadata: dict[str, str] = {}
    begun = False
    for name, value in fields:
        text = value.decode("latin-1")
        if name[:1] == b":":
            if begun or name in own or name not in _PSEUDO:
                raise Malformed(f"{name[:20]!r} where it may not be")
            own[name] = text
            continue
        begun = True
        if name[:5] == b"grpc-" or name in _OWN:
            own[name] = text
        elif name in _OF_CONNECTIONS or name != name.lower():
            raise Malformed(f"{name[:20]!r}, which HTTP/2 does not have")
        else:
            key = name.decode("latin-1")
            metadata[key] = f"{metadata[key]},{text}" if key in metadata else text
    if (
        not (own.get(b":method") and own.get(b":scheme") and own.get(b":path"))
        or own.get(b"te", "trailers") != "trailers"
    ):
        raise Malformed("no request")
    _check_http(own)
    encoding = own.get(b"grpc-encoding", "identity")
    if encoding != "identity":
        refusal = RPCError(
            Code.UNIMPLEMENTED, f"messages compressed with {encoding[:40]} are not understood: send identity"
        )
        raise Refusal(ANSWER + block([("grpc-accept-encoding", "identity"), *failure(refusal)]))
    return Request(Call(own.get(b":path", ""), metadata, peer), _timeout(own.get(b"grpc-timeout")))


def refused(error: RPCError) -> bytes:
    """The header block of an answer that is only a refusal."""
    return ANSWER + block(failure(error))


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
