"""Checks that conversions between versions lose nothing: every version to the hub and back, with random objects."""

from __future__ import annotations

from random import Random

from msgspec.json import encode

from pilotage.meta import forms, objects
from pilotage.meta.documents import Document
from pilotage.meta.models import Resource
from pilotage.meta.patches import json_diff
from pilotage.schema.generate.crd import crd
from pilotage.testing.documents import Documents, Values, smaller
from pilotage.webhook.conversion.conversions import Conversion, Conversions, conversion_of

_SMALLER = 200


def check_round_trips(
    hub: type[Resource],
    *spokes: type[Resource] | Conversion,
    lossless: bool = False,
    examples: int = 100,
    seed: int = 0,
    values: Values | None = None,
) -> None:
    """Convert random objects of each version to each other and back, and compare. Raises AssertionError.

    The error shows the smallest object found that is not the same afterwards, and the difference. `values` makes the
    values of fields whose form the schema does not give: `{"spec.schedule": lambda random: "30 2"}`; for one
    version only: `"v1:spec.schedule"`. With `lossless`, the conversions are checked as
    `with_conversion(…, lossless=True)` does them.
    """
    conversions = Conversions(hub, [conversion_of(spoke) for spoke in spokes], lossless=lossless)
    schemas = _schemas([kind for kind in conversions.kinds.values() if isinstance(kind, type)])
    versions = list(conversions.kinds)
    for number in range(examples):
        random = Random(f"{seed} {number}")  # noqa: S311 - not for secrets
        for source in versions:
            documents = Documents(random, _values_of(source.version, values or {}))
            kind = conversions.kinds[source]
            schema = schemas[source.version]
            document = _normalized(_document(documents, kind, schema), kind)
            for target in versions:
                if target != source and _difference(conversions, document, kind, target.api_version):
                    _fail(conversions, document, kind, target.api_version, schema)


def _values_of(version: str, values: Values) -> Values:
    """Those for all versions, and those for this one."""
    every = {path: make for path, make in values.items() if ":" not in path}
    prefix = f"{version}:"
    return every | {path.removeprefix(prefix): make for path, make in values.items() if path.startswith(prefix)}


def _schemas(kinds: list[type[Resource]]) -> dict[str, Document]:
    """What the random part of a document is made of, by version: all but its kind and metadata."""
    found = {}
    for version in crd(*kinds)["spec"]["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        kept = {
            name: below
            for name, below in schema.get("properties", {}).items()
            if name not in ("apiVersion", "kind", "metadata")
        }
        found[version["name"]] = {**schema, "properties": kept}
    return found


def _document(documents: Documents, kind: forms.Kind, schema: Document) -> Document:
    gvk = forms.gvk_of(kind)
    metadata = {
        "name": "example",
        "namespace": "default",
        "uid": "11111111-2222-4333-8444-555555555555",
        "resourceVersion": "7",
        "generation": 3,
        "labels": {"app": "example"},
        "annotations": {"example.com/note": "kept"},
        "finalizers": ["example.com/finalizer"],
    }
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata, **documents.value(schema)}


def _normalized(document: Document, kind: forms.Kind) -> Document:
    """As an API server stores it: with the defaults of the class."""
    assert isinstance(kind, type)
    assert issubclass(kind, Resource)
    return objects.document_of(objects.decode(kind, encode(document)))


def _difference(conversions: Conversions, document: Document, kind: forms.Kind, target: str) -> list[Document]:
    """What differs after the conversion to the target and back, as a JSON patch."""
    there = conversions.convert(document, target)
    back = conversions.convert(there, document["apiVersion"])
    return json_diff(document, _normalized(back, kind))


def _fail(conversions: Conversions, document: Document, kind: forms.Kind, target: str, schema: Document) -> None:
    for _ in range(_SMALLER):
        for candidate in smaller(document, schema):
            normalized = _normalized(candidate, kind)
            if len(encode(normalized)) >= len(encode(document)):
                continue
            try:
                failing = _difference(conversions, normalized, kind, target)
            except Exception:  # noqa: S112 - a conversion may refuse what was removed
                continue
            if failing:
                document = normalized
                break
        else:
            break
    there = conversions.convert(document, target)
    changes = "\n".join(f"  {encode(change).decode()}" for change in _difference(conversions, document, kind, target))
    raise AssertionError(
        f"{document['kind']} of {document['apiVersion']} is not the same after the conversion to {target} and back.\n"
        f"before: {encode(document).decode()}\n{target}: {encode(there).decode()}\ndifference:\n{changes}\n"
        "A version that cannot express everything needs lossless=True, or a field or annotation of its own."
    )
