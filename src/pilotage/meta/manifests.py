"""Objects from manifests and as manifests: YAML or JSON text, and plain documents with the API's field names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from pilotage.errors import DecodeError
from pilotage.meta import objects
from pilotage.meta.forms import KindOf, O, Object, gvk_of, reader_of
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import Resource
from pilotage.meta.unstructured import PartialObjectMetadata, Unstructured


def from_yaml(kind: KindOf[O], text: str | bytes) -> O:
    """An object from the text of one manifest, in YAML or JSON. Raises DecodeError, as `from_document` does.

    Anchors, aliases and merge keys are read as `pilotage apply -f` reads them, within limits.
    """
    from pilotage.meta.text import yamltext  # PyYAML: many programs do not need it

    if not isinstance(text, str | bytes):
        raise TypeError(f"from_yaml needs the text of a manifest, not {type(text).__name__}")
    document = yamltext.read(text, aliases=True)
    if not isinstance(document, dict):
        raise DecodeError(f"a manifest must be an object with fields, not {type(document).__name__}")
    return from_document(kind, document)


def from_document(kind: KindOf[O], document: Mapping[str, Any]) -> O:
    """An object of a class from a document, or `Unstructured` for a GroupVersionKind.

    Fields that the class does not know are kept, and written with the object. Raises DecodeError for a document of
    another kind (one without apiVersion and kind is of this kind), and for one that the class cannot hold.
    """
    gvk = gvk_of(kind)
    if not isinstance(document, Mapping | Unstructured):
        hint = "; to_document(…) makes one of an object" if isinstance(document, Resource) else ""
        raise TypeError(f"from_document needs a document with fields, not {type(document).__name__}{hint}")
    whole = {"apiVersion": gvk.api_version, "kind": gvk.kind} | dict(document)
    check_kind(whole, gvk, "the document")
    return cast("O", reader_of(kind)(msgspec.json.encode(whole)))


def to_document(obj: Object) -> dict[str, Any]:
    """The object as a plain document of its own. Empty fields are left out."""
    if not isinstance(obj, Resource | Unstructured | PartialObjectMetadata):
        raise TypeError(f"an object of a kind is needed, such as a ConfigMap, not {type(obj).__name__}")
    document: dict[str, Any] = msgspec.json.decode(objects.updated(obj))
    return document


def to_yaml(obj: Object) -> str:
    """The object as a manifest, which `from_yaml` reads."""
    from pilotage.meta.text import yamltext

    return yamltext.write(to_document(obj))


def check_kind(document: Mapping[str, Any], gvk: GroupVersionKind, what: str) -> None:
    """Raise DecodeError unless the document is of the kind."""
    api_version, name = document.get("apiVersion"), document.get("kind")
    if not name or not api_version:
        raise DecodeError(f"{what} has no apiVersion or no kind", path=".kind")
    if (api_version, name) != (gvk.api_version, gvk.kind):
        raise DecodeError(
            f"{what} is {name} of {api_version}, and cannot be decoded as {gvk.kind} of {gvk.api_version}",
            path=".kind",
        )
