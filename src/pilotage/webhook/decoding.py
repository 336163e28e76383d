"""Objects from the documents of a review, without the loss of a field that a class does not know."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from pilotage.errors import DecodeError
from pilotage.meta import objects
from pilotage.meta.documents import Document, copied
from pilotage.meta.forms import KindOf, O
from pilotage.meta.models import Resource
from pilotage.meta.unstructured import Unstructured


def decoded(document: Document | None, kind: KindOf[O], field: str = "object") -> O:
    """An object of a class, which remembers its document, or `Unstructured` with a copy of it for a GroupVersionKind.

    Raises DecodeError if there is no document (`field` is its place in the review), if it is of another kind than the
    class, or if the class cannot hold it.
    """
    if not document:
        raise DecodeError(f"there is no content to decode: the request has no {field}")
    if not (isinstance(kind, type) and issubclass(kind, Resource)):
        return cast("O", Unstructured(copied(document)))  # so that the request still has the state before
    check_kind(document, kind, field)
    return cast("O", objects.decode(kind, msgspec.json.encode(document)))


def decode_raw(data: bytes | Document, kind: KindOf[O]) -> O:
    """An object from JSON, or from a document, as `AdmissionRequest.decode` reads it. Raises DecodeError."""
    return decoded(data if isinstance(data, dict) else objects.read(data) if data else None, kind)


def check_kind(document: Document, kind: type[Resource], field: str) -> None:
    """Raise DecodeError unless the document is of the kind of a class."""
    gvk = kind.__resource__.gvk
    api_version: Any = document.get("apiVersion")
    name: Any = document.get("kind")
    if not name or not api_version:
        raise DecodeError(f"the {field} of the request has no apiVersion or no kind", path=".kind")
    if (api_version, name) != (gvk.api_version, gvk.kind):
        raise DecodeError(
            f"the {field} of the request is {name} of {api_version}, and cannot be decoded as {gvk.kind} of "
            f"{gvk.api_version}",
            path=".kind",
        )
