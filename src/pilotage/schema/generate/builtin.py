"""The schemas of built-in types inside of custom resources, as controller-gen makes them from the types in Go.

They come from the definitions that Kubernetes publishes, which have what the Python classes do not: atomic maps,
defaults, and formats of integers. A default that is only the zero value of a field that Go always writes is left out.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from pilotage.schema.generate import known
from pilotage.types import builtin
from pilotage.types.meta import v1 as meta_v1

Schema = dict[str, Any]

_PACKAGE = "pilotage.types."
_MODELS = "pilotage.meta.models"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_EITHER: Schema = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
_ANY: Schema = {"x-kubernetes-preserve-unknown-fields": True}
_TIME: Schema = {"type": "string", "format": "date-time"}
_FIXED: Mapping[str, Schema] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {**_EITHER, "pattern": known.QUANTITY_PATTERN},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _EITHER,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object", **_ANY},
    f"{_META}FieldsV1": {"type": "object", **_ANY},
    f"{_META}Time": _TIME,
    f"{_META}MicroTime": _TIME,
    f"{_META}ObjectMeta": known.object_metadata(),
    f"{_META}Condition": known.condition(),
}
_CORE = "io.k8s.api.core.v1."
_ATOMIC = frozenset(
    f"{_CORE}{name}"
    for name in (
        "ConfigMapEnvSource",
        "ConfigMapProjection",
        "ConfigMapVolumeSource",
        "SecretEnvSource",
        "SecretProjection",
    )
)
"""Types that are atomic in controller-gen's schemas alone: they embed LocalObjectReference in Go, which is atomic."""
_NO_DEFAULTS = {f"{_CORE}AzureDiskVolumeSource": {"cachingMode", "kind"}}
"""Defaults that are constants in Go, which controller-gen does not read."""
_NO_ZERO = object()
_TOPOLOGY = ("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")


def embedded_schema(cls: type) -> Schema | None:
    """The schema of a built-in type as a part of another object, as the caller's own; None for any other class, and
    for a type that contains itself."""
    name = definition_of(cls)
    return schema_of_definition(name) if name is not None else None


def schema_of_definition(name: str) -> Schema | None:
    """The schema of a definition as a part of another object, as the caller's own; None if it contains itself."""
    encoded = _encoded(name)
    found: Schema | None = None if encoded is None else msgspec.json.decode(encoded)
    return found


def remove_field(schema: Schema, path: str) -> bool:
    """Remove a field from a schema, in place, by its path as of `Without`. Returns whether there was one."""
    at: Any = schema
    *parents, name = path.replace("[]", ".[]").replace("{}", ".{}").split(".")
    for step in parents:
        inner = {"[]": at.get("items"), "{}": at.get("additionalProperties")}
        at = inner[step] if step in inner else at.get("properties", {}).get(step)
        if not isinstance(at, dict):
            return False
    properties = at.get("properties", {})
    names = list(properties) if name == "*" else [name]
    if not names or not properties.keys() >= set(names):
        return False
    for each in names:
        del properties[each]
    at["required"] = [each for each in at.get("required", ()) if each in properties]
    for key in ("required", "properties"):
        if not at.get(key):
            at.pop(key, None)
    return True


def definition_of(cls: type) -> str | None:
    """The name of the definition of a class that `pilotage.types` exports; None for any other class."""
    module = cls.__module__
    if module == _MODELS and getattr(meta_v1, cls.__name__, None) is cls:
        module = meta_v1.__name__
    return _names().get(f"{module.removeprefix(_PACKAGE)}.{cls.__name__}") if module.startswith(_PACKAGE) else None


@cache
def _names() -> dict[str, str]:
    """The names of all definitions by their last three parts, which name a module and a class."""
    return {".".join(name.rsplit(".", 3)[1:]): name for name in builtin.definition_names()}


@cache
def _encoded(name: str) -> bytes | None:
    try:
        return msgspec.json.encode(_definition(name, ()))
    except RecursionError:
        return None


def _definition(name: str, trail: tuple[str, ...]) -> Schema:
    if name in _FIXED:
        return _FIXED[name]
    if name in trail:
        raise RecursionError(name)
    document = builtin.definition(name)
    if document.keys() <= {"description"}:
        return _ANY
    whole = f"{_META}ObjectMeta" in str(document.get("properties", {}).get("metadata", ""))
    kind = whole and "apiVersion" in document["properties"]  # inside another object it has no apiVersion and kind
    for field in ("apiVersion", "kind") if kind else ():
        del document["properties"][field]
    for field in _NO_DEFAULTS.get(name, ()):
        del document["properties"][field]["default"]
    if name in _ATOMIC:
        document["x-kubernetes-map-type"] = "atomic"
    return _schema(document, (*trail, name), builtin.encoding(name).always)


def _schema(document: Schema, trail: tuple[str, ...], zeros: Mapping[str, Any] = types.MappingProxyType({})) -> Schema:
    reference = document.get("$ref") or next((each.get("$ref") for each in document.get("allOf", ())), None)
    if reference:
        return _definition(reference.removeprefix(builtin.REFERENCE), trail)
    found: Schema = {key: document[key] for key in ("type", "format", "required") if key in document}
    if "properties" in document:
        required = document.get("required", ())
        found["properties"] = {
            name: _property(below, trail, is_zero=name in required or zeros.get(name, _NO_ZERO) == below.get("default"))
            for name, below in document["properties"].items()
        }
    for key in ("additionalProperties", "items"):
        if isinstance(document.get(key), dict):
            found[key] = _schema(document[key], trail)
    if document.get("type") == "object" and not found.keys() & {"properties", "additionalProperties"}:
        found |= _ANY if trail else {}
    found |= {key: document[key] for key in _TOPOLOGY if key in document}
    _default_keys(found)
    return found


def _property(document: Schema, trail: tuple[str, ...], *, is_zero: bool) -> Schema:
    found = _schema(document, trail)
    default = document.get("default")
    return {**found, "default": default} if not is_zero and isinstance(default, str | int | bool | float) else found


def _default_keys(schema: Schema) -> None:
    """Set the defaults of the optional keys of a list, which a CRD needs."""
    properties, required = (schema.get("items", {}).get(key, {}) for key in ("properties", "required"))
    for key in schema.get("x-kubernetes-list-map-keys", ()):
        if key not in required and key in properties:
            properties[key] = {**properties[key], "default": properties[key].get("default", "")}
