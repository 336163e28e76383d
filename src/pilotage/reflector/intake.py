"""Intake: prepares received objects for the store: copies them, checks their kind, applies the transform."""

from __future__ import annotations

import sys
from asyncio import CancelledError
from collections.abc import Callable

import msgspec

from pilotage.errors import DecodeError
from pilotage.meta import objects
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.objects import Envelope, Header
from pilotage.meta.unstructured import Unstructured
from pilotage.rest.answers import Expected
from pilotage.rest.request import Form
from pilotage.rest.response import Bytes

USER_FAILURES = (Exception, CancelledError, SystemExit)
"""The exceptions of a synchronous function of the user. A CancelledError is raised by a future that it read; it
must not be mistaken for a cancellation of the calling task, which would end silently. And a library that calls
sys.exit() must not end the program."""

Transform = Callable[[Unstructured], Unstructured]
"""Changes an object before it is stored, in place or not. Runs once for each version of an object."""


# gc=False: it refers to no container, so it cannot be in a cycle, and a collection has many of them.
class Item(msgspec.Struct, frozen=True, gc=False):
    """An object of a list: its key and its bytes. Its header is decoded on use."""

    namespace: str
    name: str
    data: bytes

    def __repr__(self) -> str:
        return f"Item({self.namespace!r}, {self.name!r}, {len(self.data)} bytes)"  # which may be a Secret's


class Intake:
    """Checks and transforms the objects of one kind."""

    def __init__(
        self, gvk: GroupVersionKind | None, transform: Transform | None = None, form: Form = Form.OBJECT
    ) -> None:
        self._expected = Expected(gvk, form) if gvk is not None else None
        self._kind, self._api_version = (gvk.kind, gvk.api_version) if gvk is not None else ("", "")
        self._transform = transform
        self._head = b""
        if gvk is not None:
            # In the order in which a server writes it, so that an object of a list equals the same one of a watch.
            document = {"kind": gvk.kind, "apiVersion": gvk.api_version}
            self._head = msgspec.json.encode(document)[:-1]

    def event(self, data: Bytes) -> tuple[bytes, Header]:
        """The bytes to store, and the header. Raises DecodeError and UnexpectedAnswer."""
        envelope = objects.envelope(data)
        header = envelope.metadata
        # One condition for the usual object, because this runs for each object of each list and watch.
        if (
            envelope.kind != self._kind
            or envelope.api_version != self._api_version
            or self._transform is not None
            or not header.name
        ):
            return self._unusual(data, envelope)
        # A copy: a view would keep the whole page or read buffer in memory as long as the object.
        return bytes(data), header

    def item(self, data: Bytes) -> Item:
        """The key and bytes of an object of a list, which may lack apiVersion and kind."""
        kept, header = self.event(data)
        # Thousands of objects share a few namespaces.
        return Item(sys.intern(header.namespace), header.name, kept)

    def _unusual(self, data: Bytes, envelope: Envelope) -> tuple[bytes, Header]:
        has_kind = bool(envelope.kind or envelope.api_version)  # an object of a list may have no kind
        if has_kind and self._expected is not None and not self._expected.allows(envelope.api_version, envelope.kind):
            raise self._expected.unexpected(envelope.api_version, envelope.kind)
        if not envelope.metadata.name:
            raise DecodeError("an object without a name cannot be stored", path=".metadata.name")
        if not has_kind and self._head:
            rest = bytes(data).lstrip()[1:].lstrip()
            data = self._head + (b"" if rest.startswith(b"}") else b",") + rest
        if self._transform is None:
            return bytes(data), envelope.metadata
        kept = self._transformed(self._transform, data)
        return kept, objects.header(kept)

    def _transformed(self, transform: Transform, data: Bytes) -> bytes:
        try:
            return transform(Unstructured.from_bytes(bytes(data))).to_bytes()
        except USER_FAILURES as error:  # the other objects must not be affected
            name = getattr(transform, "__qualname__", repr(transform))
            raise DecodeError(f"the transform {name} failed: {type(error).__name__}: {error}") from error
