"""Managed fields of the objects that a server creates by itself."""

from __future__ import annotations

from typing import Any

from pilotage.meta.documents import Document

_WHOLE = ("roleRef", "rules", "subjects")
"""Fields with one owner."""


def set_owner(document: Document, manager: str, now: str) -> None:
    """Make a manager the owner of all fields of an object, in place."""
    metadata = document["metadata"]
    maps = {f"f:{name}": _keys(metadata[name]) for name in ("annotations", "labels") if metadata.get(name)}
    fields: dict[str, Any] = {"f:metadata": maps} if maps else {}
    for name, value in document.items():
        if name not in ("apiVersion", "kind", "metadata"):
            fields[f"f:{name}"] = {} if name in _WHOLE else _keys(value)
    entry = {"manager": manager, "operation": "Update", "apiVersion": document["apiVersion"], "time": now}
    metadata["managedFields"] = [entry | {"fieldsType": "FieldsV1", "fieldsV1": fields}]


def _keys(value: Document) -> Document:
    return {".": {}} | {f"f:{key}": {} for key in value}
