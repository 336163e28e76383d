"""Warns of a status that a create or an update does not write: the server takes it only through the subresource."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import msgspec

from pilotage.client.session import Session, Subject
from pilotage.client.transport.warnings import ServerWarning
from pilotage.meta import objects
from pilotage.meta.models import Resource
from pilotage.meta.scalars.hooks import enc_hook

_apart: ContextVar[bool] = ContextVar("pilotage_status_apart", default=False)


class _Document(msgspec.Struct, gc=False):
    status: msgspec.Raw = msgspec.Raw(b"")


_DECODER = msgspec.json.Decoder(_Document)


@contextmanager
def status_written_apart() -> Iterator[None]:
    """A block in which the caller writes the status with another call."""
    token = _apart.set(True)
    try:
        yield
    finally:
        _apart.reset(token)


def warn_of_dropped_status(session: Session, subject: Subject, obj: object, sent: bytes, answer: bytes) -> None:
    """Warn if the document that was sent has a status that the answer does not have.

    A status that is as it was read, or as the class of the object has it, was not meant to be written.
    """
    if _apart.get():
        return
    wanted, stored = _DECODER.decode(sent).status, _DECODER.decode(answer).status
    before = _DECODER.decode(objects.origin_of(obj) or unset_status(obj)).status
    if not bytes(wanted) or wanted in (stored, before):
        return
    if not _has(_decoded(stored), _decoded(wanted)):
        text = "the server did not store the status: write it with update_status or patch_status"
        session.warn(ServerWarning(text, subject.kind.gvk, subject.namespace, subject.name))


def unset_status(obj: object) -> bytes:
    """A document with the status that an object has from its class; without one, it is empty."""
    for field in msgspec.structs.fields(type(obj)) if isinstance(obj, Resource) else ():
        if field.name == "status" and field.default_factory is not msgspec.NODEFAULT:
            return msgspec.json.encode({"status": field.default_factory()}, enc_hook=enc_hook)
    return b"{}"


def _decoded(raw: msgspec.Raw) -> Any:
    return msgspec.json.decode(raw) if bytes(raw) else None  # empty: the document has no status


def _has(stored: Any, wanted: Any) -> bool:
    """Whether the stored value has what was wanted; the server may have added defaults, and absent is empty."""
    if stored is None and not wanted:
        return True
    if isinstance(wanted, dict):
        found = stored if isinstance(stored, dict) else {}
        return all(_has(found.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(stored, list) and len(wanted) == len(stored):
        return all(map(_has, stored, wanted))
    return bool(stored == wanted)
