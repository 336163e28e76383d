"""Objects from the documents of a review, without the loss of a field that a class does not know."""

from __future__ import annotations

from typing import cast

import msgspec

from pilotage.errors import DecodeError
from pilotage.meta import objects
from pilotage.meta.documents import Document, copied
from pilotage.meta.forms import KindOf, O
from pilotage.meta.manifests import check_kind
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
    check_kind(document, kind.__resource__.gvk, f"the {field} of the request")
    return cast("O", objects.decode(kind, msgspec.json.encode(document)))
