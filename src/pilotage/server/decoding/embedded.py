"""Resources in custom resources: their metadata is decoded as the metadata of whole objects is."""

from __future__ import annotations

from pilotage.codec.scalars import Mismatch
from pilotage.meta.causes import json_shown
from pilotage.meta.documents import Document
from pilotage.schema.structural.embedded import EmbeddedObject
from pilotage.schema.structural.node import OBJECT_META
from pilotage.server.resources import ResourceInfo

_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def normalize_embedded(document: Document, info: ResourceInfo) -> None:
    """Give the embedded resources in a document metadata of the right types, without empty fields, in place.

    Raises Mismatch. Unknown fields stay: they are pruned, and reported, with all others.
    """
    for resource in info.schema.embedded_resources(document) if info.schema is not None else ():
        for key in ("apiVersion", "kind"):
            if not isinstance(resource.value.get(key, ""), str):
                shown = json_shown(resource.value[key])
                raise Mismatch(f"{resource.at}.{key}: Invalid value: {shown}: must be a string")
        if "metadata" in resource.value:
            _normalize_metadata(resource)


def _normalize_metadata(resource: EmbeddedObject) -> None:
    from pilotage.codec.structure import structure  # with the schemas of built-in kinds

    given = resource.value["metadata"]
    metadata = {} if given is None else given
    try:
        known = structure(_OBJECT_META).decode(metadata, [])
    except Mismatch as mismatch:
        raise Mismatch(f"{resource.at}.metadata: Invalid value: {json_shown(given)}: {mismatch}") from None
    unknown = {key: value for key, value in metadata.items() if key not in OBJECT_META}
    resource.value["metadata"] = known | unknown
