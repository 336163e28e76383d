"""Conversion between the versions of one kind, by functions to and from a hub version."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import msgspec

from pilotage.errors import DecodeError, InvalidDefinition
from pilotage.meta import forms, objects
from pilotage.meta.documents import Document, copied
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import Resource
from pilotage.meta.unstructured import Unstructured
from pilotage.schema.generate.openapi import openapi
from pilotage.webhook.conversion.lossless import with_saved, without_saved

_ZERO: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": []}
Function = Callable[[Document], Document]


@dataclass(frozen=True, slots=True)
class Conversion:
    """How one version converts to and from the hub, where the class of that version has no methods for it.

    The functions take and return objects of the classes, or Unstructured where a GroupVersionKind is given. They are
    pure: an API server may call them at any time, and more than once.
    """

    spoke: forms.Kind
    to_hub: Callable[[Any], Any]
    from_hub: Callable[[Any], Any]


class ConversionError(ValueError):
    """An object that cannot be converted."""


class Conversions:
    """All versions of one kind. Each converts to the hub and from it, so two of them convert by way of the hub.

    With `lossless`, what a version cannot express is kept in an annotation and restored on the way back.
    """

    def __init__(self, hub: forms.Kind, spokes: Sequence[Conversion], *, lossless: bool = False) -> None:
        self.hub = forms.gvk_of(hub)
        self.kinds: dict[GroupVersionKind, forms.Kind] = {self.hub: hub}
        self.lossless = lossless
        self._to_hub: dict[str, Function] = {}
        self._from_hub: dict[str, Function] = {}
        for spoke in spokes:
            self._add(spoke)

    def convert(self, document: Document, api_version: str) -> Document:
        """The object in another version. Raises ConversionError."""
        source = str(document.get("apiVersion"))
        if source == api_version:
            return document
        hub = self.hub.api_version
        for version in (source, api_version):
            if version != hub and version not in self._to_hub:
                known = ", ".join(sorted((hub, *self._to_hub)))
                raise ConversionError(f"{self.hub.kind} has no conversion for {version}; there are {known}")
        if source != hub:
            document = self._step(document, self._to_hub[source], self._from_hub[source])
        if api_version != hub:
            document = self._step(document, self._from_hub[api_version], self._to_hub[api_version])
        return document

    def _step(self, document: Document, forward: Function, back: Function) -> Document:
        return with_saved(document, forward, back) if self.lossless else forward(without_saved(document))

    def _add(self, conversion: Conversion) -> None:
        gvk = forms.gvk_of(conversion.spoke)
        if (gvk.group, gvk.kind) != (self.hub.group, self.hub.kind):
            raise InvalidDefinition(f"{gvk} cannot be a version of {self.hub}: its group or kind differs")
        if gvk in self.kinds:
            raise InvalidDefinition(f"the version {gvk.version} of {gvk.kind} has two conversions: remove one")
        hub = self.kinds[self.hub]
        self.kinds[gvk] = conversion.spoke
        self._to_hub[gvk.api_version] = _function(conversion.to_hub, conversion.spoke, hub)
        self._from_hub[gvk.api_version] = _function(conversion.from_hub, hub, conversion.spoke)


def conversion_of(spoke: forms.Kind | Conversion) -> Conversion:
    """The conversion of a class by its methods `convert_to` and `convert_from`. Raises InvalidDefinition."""
    if isinstance(spoke, Conversion):
        return spoke
    to_hub, from_hub = getattr(spoke, "convert_to", None), getattr(spoke, "convert_from", None)
    if not isinstance(spoke, type) or not callable(to_hub) or not inspect.ismethod(from_hub):
        name = spoke.__name__ if isinstance(spoke, type) else str(spoke)
        raise InvalidDefinition(
            f"{name} cannot be converted: it needs the methods convert_to(self) and, as a @classmethod, "
            "convert_from(cls, hub); or pass Conversion(kind, to_hub=…, from_hub=…)"
        )
    return Conversion(spoke, to_hub, from_hub)


def _function(function: Callable[[Any], Any], source: forms.Kind, target: forms.Kind) -> Function:
    """The function over documents, with the metadata that an API server expects."""
    if inspect.iscoroutinefunction(function):
        raise InvalidDefinition(f"{_name(function)} is async: a conversion is a plain function that waits for nothing")
    gvk = forms.gvk_of(target)

    def convert(document: Document) -> Document:
        try:
            obj = _decoded(document, source)
        except DecodeError:
            converted = _convert_part(document, source, lambda whole: _checked(function(whole), target, function))
        else:
            converted = _checked(function(obj), target, function)
        metadata = converted.pop("metadata", None) or {}
        return {
            "apiVersion": gvk.api_version,
            "kind": gvk.kind,
            "metadata": _metadata(document.get("metadata") or {}, metadata),
            **{key: value for key, value in converted.items() if key not in ("apiVersion", "kind")},
        }

    return convert


def _convert_part(document: Document, source: forms.Kind, function: Callable[[Any], Document]) -> Document:
    """Convert what server-side apply has left of an object. A part that it does not have, the result has not either."""
    whole = completed(document, cast("type[Resource]", source))  # a document without a class can always be read
    absent = whole.keys() - document.keys()
    obj = _decoded(whole, source)
    try:
        converted = function(obj)
    except Exception:  # the function of a user, which may need more than zero values
        if not absent:
            raise
        converted = copied(document)  # without its spec, an object is the same in all versions
    return {key: value for key, value in converted.items() if key not in absent}


def _decoded(document: Document, kind: forms.Kind) -> Any:
    if isinstance(kind, type) and issubclass(kind, Resource):
        return objects.decode(kind, msgspec.json.encode(document))
    return Unstructured(copied(document))


def _checked(result: Any, target: forms.Kind, function: Callable[[Any], Any]) -> Document:
    wanted = target if isinstance(target, type) and issubclass(target, Resource) else Unstructured
    if not isinstance(result, wanted):
        raise InvalidDefinition(
            f"{_name(function)} returned {type(result).__name__}: it must return a new object of {wanted.__name__}"
        )
    return objects.document_of(cast("Resource", result))


def _metadata(before: Document, after: Document) -> Document:
    """The same metadata; only labels and annotations may change, as an API server demands it."""
    metadata = {key: value for key, value in before.items() if key not in ("labels", "annotations")}
    return metadata | {key: after[key] for key in ("labels", "annotations") if after.get(key)}


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", repr(function))


def completed(document: Document, kind: type[Resource]) -> Document:
    """The document with zero values for the required fields that it does not have; the same one if it has all."""
    try:
        schema = _schema(kind)
    except InvalidDefinition:  # a class that no CRD can express: nothing is known of its fields
        return document
    found: Document = _completed(document, schema)
    return found


_schema = cache(openapi)


def _completed(value: Any, schema: dict[str, Any]) -> Any:
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [_completed(item, schema["items"]) for item in value]
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties", {})
    values = schema.get("additionalProperties")
    found = {
        key: _completed(item, properties.get(key) or (values if isinstance(values, dict) else {}))
        for key, item in value.items()
    }
    missing = [key for key in schema.get("required", ()) if key not in value]
    return found | {key: _zero(properties.get(key, {})) for key in missing}


def _zero(schema: dict[str, Any]) -> Any:
    if "default" in schema:
        return schema["default"]
    if schema.get("nullable"):
        return None
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("format") == "date-time":
        return "0001-01-01T00:00:00Z"
    if schema.get("type") == "object":
        return _completed({}, schema)
    return _ZERO.get(schema.get("type", ""), 0 if schema.get("x-kubernetes-int-or-string") else None)
