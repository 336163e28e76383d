"""Paths of fields for completion: each step of a path is suggested when the one before it is typed, as folders are."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.meta.documents import Document

_HEAD = ("apiVersion", "kind")


def continued(schema: Document, typed: str, end: str = "") -> list[str]:
    """What may follow in a path that is typed so far: `spec.`, which has fields, or `spec.text` with this end."""
    parents, dot, _ = typed.rpartition(".")
    here = _at(schema, parents)
    fields = here.get("properties") if isinstance(here, Mapping) else None
    return [
        f"{parents}{dot}{name.replace('.', chr(92) + '.')}{'.' if _has_fields(field) else end}"
        for name, field in (fields or {}).items()
        if parents or name not in _HEAD
    ]


def values_at(schema: Document, path: str) -> list[str]:
    """The values that a field can have, if they are few."""
    here = _at(schema, path) or {}
    if here.get("type") == "boolean":
        return ["true", "false"]
    return [str(value) for value in here.get("enum") or ()]


def _at(schema: Document, path: str) -> Document | None:
    here: Document | None = schema
    for step in path.split(".") if path else ():
        name, index, _ = step.partition("[")
        fields = (here or {}).get("properties") or {}
        here = fields.get(name) or (here or {}).get("additionalProperties")
        if index and isinstance(here, Mapping):
            here = here.get("items")
        if not isinstance(here, dict):
            return None
    return here


def _has_fields(field: Document) -> bool:
    return bool(field.get("properties")) or isinstance(field.get("additionalProperties"), dict)
