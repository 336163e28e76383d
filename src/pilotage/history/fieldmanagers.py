"""Which client wrote what, by the managed fields of an object."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pilotage.history.fieldpaths import segments
from pilotage.meta.values import Value

_MOST_ENTRIES = 200
"""Entries of one object that are read."""


class FieldWriter(Value, frozen=True, omit_defaults=True):
    """A client that wrote fields of an object, as the managed fields name it."""

    name: str
    operation: str = ""
    """`Apply` or `Update`."""
    subresource: str = ""
    at: datetime | None = None
    """When it last changed one of its fields; in whole seconds."""


def writer_of(old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> FieldWriter | None:
    """The client that made a change: its entry is different after it. None where the managed fields do not show it."""
    before, after = _entries(old or {}), _entries(new)
    changed = [_writer(entry) for entry in after if entry not in before]
    if not changed and len(after) == 1:  # the same client, in the same second
        changed = [_writer(entry) for entry in after]
    return max(changed, key=_moment, default=None)


def owners(document: Mapping[str, Any], path: str) -> tuple[FieldWriter, ...]:
    """The clients that own a field, or a field below it, the latest first."""
    found = [_writer(each) for each in _entries(document) if _owns(each.get("fieldsV1"), [*segments(path)])]
    return tuple(sorted(found, key=_moment, reverse=True))


def owner_of_finalizer(document: Mapping[str, Any], finalizer: str) -> str:
    """The name of the client that set a finalizer; empty where it is not known."""
    item = f"v:{json.dumps(finalizer)}"
    for entry in _entries(document):
        fields = _below(_below(entry.get("fieldsV1"), "f:metadata"), "f:finalizers")
        if item in fields:
            return _writer(entry).name
    return ""


def _entries(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    metadata = document.get("metadata")
    found = metadata.get("managedFields") if isinstance(metadata, Mapping) else None
    listed = found[:_MOST_ENTRIES] if isinstance(found, list) else []
    return [entry for entry in listed if isinstance(entry, Mapping)]


def _writer(entry: Mapping[str, Any]) -> FieldWriter:
    try:
        at = datetime.fromisoformat(str(entry.get("time", "")))
    except ValueError:
        at = None
    name, operation, subresource = (str(entry.get(key) or "") for key in ("manager", "operation", "subresource"))
    return FieldWriter(name, operation, subresource, at if at is not None and at.tzinfo is not None else None)


def _moment(writer: FieldWriter) -> float:
    return writer.at.timestamp() if writer.at is not None else 0.0


def _owns(fields: Any, path: Sequence[str]) -> bool:
    """Whether a set of fields has a field, one above it that is owned as a whole, or one below it."""
    if not path:
        return True
    if not isinstance(fields, Mapping):
        return False
    return any(not below or _owns(below, path[1:]) for below in _named(fields, path[0]))


def _named(fields: Mapping[str, Any], segment: str) -> Iterator[Any]:
    """What a set has below a field with this name, or below the item of a list with this key, value or index."""
    for element, below in fields.items():
        kind, _, text = str(element).partition(":")
        names = [text] if kind == "f" else _keys(text) if kind in ("k", "v", "i") else []
        if segment in names:
            yield below


def _keys(text: str) -> list[str]:
    try:
        value = json.loads(text)
    except ValueError:
        return []
    return [str(each) for each in value.values()] if isinstance(value, dict) else [str(value)]


def _below(fields: Any, name: str) -> Mapping[str, Any]:
    found = fields.get(name) if isinstance(fields, Mapping) else None
    return found if isinstance(found, Mapping) else {}
