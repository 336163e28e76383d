"""Compares two OpenAPI schemas: where the new one accepts less than the old one, or has another meaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pilotage.meta.paths import items, part

Schema = Mapping[str, Any]

_LOWER = {
    "minimum": "the smallest value",
    "minLength": "the shortest length",
    "minItems": "the smallest number of items",
    "minProperties": "the smallest number of entries",
}
_UPPER = {
    "maximum": "the largest value",
    "maxLength": "the longest length",
    "maxItems": "the largest number of items",
    "maxProperties": "the largest number of entries",
}
_RULES = "x-kubernetes-validations"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_REJECTED = "stored objects and clients with other values are rejected"
_WIDER_FORMATS = [["int32", "int64"], ["float", "double"]]


@dataclass(frozen=True, slots=True)
class Finding:
    """A change at a path, and whether it breaks stored objects or clients."""

    path: str
    message: str
    level: Literal["break", "warning"]


def breaks(path: str, message: str) -> Finding:
    """A change that breaks stored objects or clients."""
    return Finding(path, message, "break")


def warns(path: str, message: str) -> Finding:
    """A change that clients may notice."""
    return Finding(path, message, "warning")


def mappings(parent: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """The mappings in the list at `key`."""
    return [value for value in items(parent, key) if isinstance(value, Mapping)]


def schema_changes(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    """The changes between two schemas, and between the schemas inside them."""
    here = path if not path.endswith(" ") else f"{path}."
    was, now = _type(old), _type(new)
    if was != now and was != "anything":
        if now == "anything":
            yield warns(here, f"any value is accepted now; it was {was}")
        else:
            yield breaks(here, f"the type changed from {was} to {now}: stored objects and clients have the old one")
        return
    if was == "anything" and now != "anything":
        yield breaks(here, f"any value was accepted, now only {now}: stored objects may have another one")
        return
    yield from _limits(here, old, new)
    yield from _meaning(here, old, new)
    yield from _rules(here, old, new)
    yield from _fields(here, old, new)
    for key, step in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(old.get(key), Mapping) and isinstance(new.get(key), Mapping):
            yield from schema_changes(here.rstrip(".") + step, old[key], new[key])


def _type(schema: Schema) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "integer or string"
    type_ = str(schema.get("type") or "anything")
    if type_ == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return "map"
    return type_


def _limits(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    for table, sign in ((_LOWER, 1), (_UPPER, -1)):
        for key, what in table.items():
            was, now = _number(old.get(key)), _number(new.get(key))
            if now is not None and (was is None or (now - was) * sign > 0):
                change = f"was added: {now}" if was is None else f"changed from {was} to {now}"
                yield breaks(path, f"{what} ({key}) {change}: {_REJECTED}")
    for bound in ("minimum", "maximum"):
        exclusive = f"exclusive{bound.capitalize()}"
        if new.get(exclusive) and not old.get(exclusive) and bound in old and old[bound] == new.get(bound):
            yield breaks(path, f"{old[bound]} itself is no longer allowed ({exclusive}): {_REJECTED}")
    for key in ("pattern", "multipleOf"):
        if key in new and new[key] != old.get(key):
            yield breaks(path, f"{key} changed from {_shown(old.get(key))} to {_shown(new[key])}: {_REJECTED}")
    yield from _format(path, old.get("format"), new.get("format"))
    if new.get("enum") is not None:
        yield from _enumeration(path, items(old, "enum") if old.get("enum") is not None else None, items(new, "enum"))
    if old.get("nullable") and not new.get("nullable"):
        yield breaks(path, "null is no longer allowed: stored nulls are removed or become the default")


def _format(path: str, old: Any, new: Any) -> Iterator[Finding]:
    if new and new != old and [old, new] not in _WIDER_FORMATS:
        yield breaks(path, f"the format changed from {_shown(old)} to {new}: {_REJECTED}")


def _enumeration(path: str, old: list[Any] | None, new: list[Any]) -> Iterator[Finding]:
    if old is None:
        yield breaks(path, f"only {', '.join(map(_shown, new))} are now allowed: {_REJECTED}")
        return
    for value in old:
        if value not in new:
            yield breaks(
                path, f"the value {_shown(value)} is no longer allowed: stored objects and clients may have it"
            )


def _meaning(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    if old.get("default") != new.get("default"):
        before, after = _shown(old.get("default")), _shown(new.get("default"))
        yield warns(path, f"the default changed from {before} to {after}: objects without the field get another value")
    was, now = old.get("x-kubernetes-list-type") or "atomic", new.get("x-kubernetes-list-type") or "atomic"
    if was != now:
        yield breaks(
            path,
            f"the list type changed from {was} to {now}: apply merges it in another way",
        )
    elif old.get("x-kubernetes-list-map-keys") != new.get("x-kubernetes-list-map-keys"):
        yield breaks(
            path,
            f"the keys of the list changed from {_keys(old)} to {_keys(new)}: items are identified in another way",
        )
    was, now = old.get("x-kubernetes-map-type") or "granular", new.get("x-kubernetes-map-type") or "granular"
    if was != now:
        yield warns(path, f"the map type changed from {was} to {now}: the field managers change with the next apply")
    if old.get(_PRESERVE) and not new.get(_PRESERVE):
        yield breaks(path, "unknown fields are no longer preserved: unknown fields of stored objects are dropped")
    if new.get(_EMBEDDED) and not old.get(_EMBEDDED):
        yield breaks(path, "it must now be a whole Kubernetes object: stored values may have no kind or apiVersion")


def _rules(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    known = [(rule.get("rule"), rule.get("optionalOldSelf")) for rule in mappings(old, _RULES)]
    for rule in mappings(new, _RULES):
        if (rule.get("rule"), rule.get("optionalOldSelf")) not in known:
            text = " ".join(str(rule.get("rule")).split())
            yield breaks(path, f"the rule {text!r} is new: it may reject stored objects")


def _fields(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    before, after = part(old, "properties"), part(new, "properties")
    base = path.rstrip(".")
    for name in before:
        if name in after:
            yield from schema_changes(f"{base}.{name}", part(before, name), part(after, name))
        elif new.get(_PRESERVE):
            yield warns(
                f"{base}.{name}", "the field no longer has a schema: its values are preserved without validation"
            )
        else:
            yield breaks(
                f"{base}.{name}", "the field was removed: its values in stored objects and requests are dropped"
            )
    for name in after:
        if name not in before and old.get(_PRESERVE):
            yield breaks(f"{base}.{name}", "the field now has a schema: stored objects may have other values")
    yield from _required(base, old, new)


def _required(base: str, old: Schema, new: Schema) -> Iterator[Finding]:
    def required(schema: Schema) -> set[str]:
        properties = part(schema, "properties")
        return {str(name) for name in items(schema, "required") if "default" not in part(properties, str(name))}

    for name in sorted(required(new) - required(old)):
        yield breaks(f"{base}.{name}", "the field is now required and has no default: objects without it are rejected")


def _keys(schema: Schema) -> str:
    return ", ".join(map(str, items(schema, "x-kubernetes-list-map-keys"))) or "none"


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, int | float) else None


def _shown(value: Any) -> str:
    return "none" if value is None else repr(value)
