"""Validates the keywords of a schema, and the list types with their keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from pilotage.errors import Cause
from pilotage.meta import causes
from pilotage.schema.subschemas import Schema, branches

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_LIST_TYPE, _MAP_TYPE, _KEYS = "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-list-map-keys"
_META = ("apiVersion", "kind", "metadata")


@dataclass(frozen=True, slots=True)
class SchemaPosition:
    """The position of a schema within the schema of a version."""

    at: str
    root: bool = False
    resource: bool = False
    forbidden_default: str = ""
    metadata_path: tuple[str | int, ...] = ()
    """The path from the resource around it, if the schema is the schema of its apiVersion, kind or metadata, or in
    these."""
    uncorrelated: str = ""
    """The path of the outer list whose items cannot be matched with old ones; rules inside it cannot use oldSelf."""
    branch: bool = False
    repetitions: int | None = 1
    """How often the value can be in one object; None if a list or a map around it has no limit."""

    @property
    def in_metadata(self) -> bool:
        return bool(self.metadata_path)

    def below(self, at: str) -> SchemaPosition:
        return replace(self, at=at, root=False, resource=False)


def places(schema: Schema, place: SchemaPosition) -> Iterator[tuple[Schema, SchemaPosition]]:
    """A schema and all schemas in it, also the schemas of allOf, anyOf, oneOf and not."""
    yield schema, place
    for name, child in (schema.get("properties") or {}).items():
        yield from places(child, _property(name, place, child))
    for keyword in ("items", "additionalProperties"):
        child = schema.get(keyword)
        if isinstance(child, Mapping):
            below = replace(place.below(f"{place.at}.{keyword}"), repetitions=_repetitions(schema, place.repetitions))
            if place.in_metadata:
                below = replace(below, metadata_path=(*place.metadata_path, 0))
            if keyword == "items" and schema.get(_LIST_TYPE) != "map":
                below = replace(below, uncorrelated=below.uncorrelated or place.at)
            if keyword == "additionalProperties" and place.in_metadata:
                text = "inside additionalProperties applying to object metadata"
                below = replace(below, forbidden_default=text)
            yield from places(child, replace(below, resource=child.get("x-kubernetes-embedded-resource") is True))
    for where, branch in branches(schema, place.at):
        yield from places(branch, replace(place.below(where), branch=True))


def keyword_causes(schema: Schema, place: SchemaPosition) -> Iterator[Cause]:
    """What is wrong with the keywords of one schema."""
    at, kind = place.at, schema.get("type") or ""
    if kind and kind not in _TYPES:
        yield causes.not_supported(f"{at}.type", kind, _TYPES)
    if schema.get("default") is not None and place.forbidden_default:
        yield causes.forbidden(f"{at}.default", f"must not be set {place.forbidden_default}")
    for keyword in _UNSUPPORTED:
        if schema.get(keyword) not in (None, "", {}, []) or (keyword == "additionalItems" and keyword in schema):
            yield causes.forbidden(f"{at}.{keyword}", f"{keyword} is not supported")
    if kind == "null":
        yield causes.forbidden(f"{at}.type", "type cannot be set to null, use nullable as an alternative")
    if schema.get("items") and isinstance(schema["items"], list):
        yield causes.forbidden(f"{at}.items", "items must be a schema object and not an array")
    if place.in_metadata and schema.get("x-kubernetes-embedded-resource"):
        yield causes.forbidden(f"{at}.x-kubernetes-embedded-resource", "must not be used inside of resource meta")
    if schema.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield causes.forbidden(f"{at}.uniqueItems", text)
    additional = schema.get("additionalProperties")
    if schema.get("properties") and additional is not None and additional is not True:
        text = "additionalProperties and properties are mutual exclusive"
        yield causes.forbidden(f"{at}.additionalProperties", text)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        yield causes.invalid(f"{at}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")
    yield from _list_causes(schema, at)


def schema_keyword_causes(every: Iterable[Schema], at: str) -> Iterator[Cause]:
    """`$schema` in any of the schemas at a position, which is reported once, and only if nothing else is wrong."""
    if any(schema.get("$schema") for schema in every):
        yield causes.invalid(at, "", "OpenAPIV3Schema 'schema' is not supported")


def is_convertible(schema: Schema) -> bool:
    """Whether the keywords of one schema allow checks of its structure, defaults and rules."""
    if any(schema.get(keyword) not in (None, "", {}, []) for keyword in _UNSUPPORTED) or "additionalItems" in schema:
        return False
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        return False
    return not (isinstance(schema.get("items"), list) and schema["items"])


def _repetitions(schema: Schema, around: int | None) -> int | None:
    """How often a value inside a list or a map can exist; None without a limit. `around` is how often the list can."""
    limit = schema.get("maxItems" if schema.get("type") == "array" else "maxProperties")
    return None if around is None or limit is None else around * max(int(limit), 0)


def _property(name: str, place: SchemaPosition, child: Schema) -> SchemaPosition:
    below = place.below(f"{place.at}.properties[{name}]")
    if place.in_metadata:
        below = replace(below, metadata_path=(*place.metadata_path, name))
    elif place.resource and name in _META:
        below = replace(below, metadata_path=(name,))
        if place.root:
            below = replace(below, forbidden_default=f"in top-level {name}")
    return replace(below, resource=child.get("x-kubernetes-embedded-resource") is True)


def _list_causes(schema: Schema, at: str) -> Iterator[Cause]:
    kind, list_type, map_type = schema.get("type") or "", schema.get(_LIST_TYPE), schema.get(_MAP_TYPE)
    for keyword, value, wanted, known in (
        (_MAP_TYPE, map_type, "object", ("atomic", "granular")),
        (_LIST_TYPE, list_type, "array", ("atomic", "set", "map")),
    ):
        if value is not None and kind != wanted:
            text = f"must be {wanted} if {keyword} is specified"
            yield causes.invalid(f"{at}.type", kind, text) if kind else causes.required(f"{at}.type", text)
        if value is not None and value not in known:
            yield causes.not_supported(f"{at}.{keyword}", value, known)
    items = schema.get("items")
    if list_type == "set" and kind == "array" and isinstance(items, Mapping):
        yield from _set_causes(items, at)
    if schema.get(_KEYS) and list_type != "map":
        text = f"must be map if {_KEYS} is non-empty"
        where = f"{at}.{_LIST_TYPE}"
        yield causes.required(where, text) if list_type is None else causes.invalid(where, list_type, text)
    if list_type == "map":
        yield from _map_causes(schema, at)
    if list_type in ("set", "map") and isinstance(items, Mapping) and items.get("nullable"):
        yield causes.forbidden(f"{at}.items.nullable", f"cannot be nullable when {_LIST_TYPE} is {list_type}")


def _set_causes(items: Schema, at: str) -> Iterator[Cause]:
    text = f"must be atomic as item of a list with {_LIST_TYPE}=set"
    if items.get("type") == "array" and items.get(_LIST_TYPE, "atomic") != "atomic":
        yield causes.invalid(f"{at}.items.{_LIST_TYPE}", items[_LIST_TYPE], text)
    if items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
        yield causes.invalid(f"{at}.items.{_MAP_TYPE}", None, text)


def _map_causes(schema: Schema, at: str) -> Iterator[Cause]:
    keys, items = schema.get(_KEYS) or [], schema.get("items")
    if not keys:
        yield causes.required(f"{at}.{_KEYS}", f"must not be empty if {_LIST_TYPE} is map")
    if items is None:
        yield causes.required(f"{at}.items", f"must have a schema if {_LIST_TYPE} is map")
    if not isinstance(items, Mapping):
        return
    if items.get("type") != "object":
        text = f"must be object if parent array's {_LIST_TYPE} is map"
        yield causes.invalid(f"{at}.items.type", items.get("type", ""), text)
        return
    seen: set[str] = set()
    for key in keys:
        yield from _key_causes(items, key, at, keys)
        if key in seen:
            yield causes.invalid(f"{at}.{_KEYS}", keys, "must not contain duplicate entries", whole=True)
        seen.add(key)


def _key_causes(items: Schema, key: str, at: str, keys: list[str]) -> Iterator[Cause]:
    child = (items.get("properties") or {}).get(key)
    if child is None:
        yield causes.invalid(f"{at}.{_KEYS}", keys, "entries must all be names of item properties", whole=True)
        return
    where = f"{at}.items.properties[{key}]"
    if child.get("type") in ("array", "object"):
        text = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
        yield causes.invalid(f"{where}.type", items["type"], text)
    named = f"this property is in {_KEYS}, so it"
    if key not in (items.get("required") or ()) and child.get("default") is None:
        yield causes.required(f"{where}.default", f"{named} must have a default or be a required property")
    if child.get("nullable"):
        yield causes.forbidden(f"{where}.nullable", f"{named} cannot be nullable")
