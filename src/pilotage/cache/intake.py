"""Intake: what comes from a server made fit to keep. Bytes are copied, the kind is checked, the transform applied."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from pilotage.cache.errors import USER_FAILURES
from pilotage.errors import DecodeError, PilotageError
from pilotage.meta import objects
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.objects import Envelope, Header
from pilotage.meta.unstructured import Unstructured
from pilotage.rest.response import Bytes

Transform = Callable[[Unstructured], Unstructured]
"""Changes an object before it is kept, in place or not. Runs once for each version of an object."""

_PARTIAL = "PartialObjectMetadata"


class Item(NamedTuple):
    """An object of a list: its key and its bytes. Its header is read when somebody asks."""

    namespace: str
    name: str
    data: bytes


class WrongKind(PilotageError):
    """The server sent something else than was asked for."""


class Intake:
    """Takes in the objects of one kind."""

    def __init__(self, gvk: GroupVersionKind | None, transform: Transform | None = None) -> None:
        self._kind = gvk.kind if gvk is not None else ""
        self._gvk = gvk
        self._transform = transform
        self._head = b""
        if gvk is not None:
            # In the order in which a server writes it, so that an object of a list equals the same one of a watch.
            document = {"kind": gvk.kind, "apiVersion": gvk.api_version}
            self._head = msgspec.json.encode(document)[:-1]

    def event(self, data: Bytes) -> tuple[bytes, Header]:
        """The bytes to keep, and the header. Raises DecodeError and WrongKind."""
        envelope = objects.envelope(data)
        if envelope.kind != self._kind or self._transform is not None:
            return self._unusual(data, envelope)
        header = envelope.metadata
        if not header.name:
            raise _nameless(data)
        return bytes(data), header

    def item(self, data: Bytes) -> Item:
        """An object of a list, which need not say its kind."""
        kept, header = self.event(data)
        return Item(sys.intern(header.namespace), header.name, kept)

    def _unusual(self, data: Bytes, envelope: Envelope) -> tuple[bytes, Header]:
        if not envelope.metadata.name:
            raise _nameless(data)
        if not envelope.kind and self._head:
            rest = bytes(data).lstrip()[1:].lstrip()
            data = self._head + (b"" if rest.startswith(b"}") else b",") + rest
        elif self._kind and envelope.kind not in (self._kind, _PARTIAL):
            raise WrongKind(f"a {envelope.api_version} {envelope.kind} came where {self._gvk} was asked for")
        if self._transform is None:
            return bytes(data), envelope.metadata
        kept = self._transformed(self._transform, data)
        return kept, objects.header(kept)

    def _transformed(self, transform: Transform, data: Bytes) -> bytes:
        try:
            return transform(Unstructured.from_bytes(bytes(data))).to_bytes()
        except USER_FAILURES as error:  # whatever the user's function does, the other objects go on
            name = getattr(transform, "__qualname__", repr(transform))
            raise DecodeError(f"the transform {name} failed: {type(error).__name__}: {error}") from error


def _nameless(data: Bytes) -> DecodeError:
    shown = bytes(data[:80]).decode(errors="replace")
    return DecodeError(f"an object without a name cannot be kept: {shown!r}", path=".metadata.name")
