"""Why the result of a strategic patch is not an object of its kind, in kube-apiserver's words.

kube-apiserver restores a Go struct from the patched document, so that its words are the names of Go's kinds. Tests
search for them, kubectl's tests among them.
"""

from __future__ import annotations

import re
from typing import Any

from pilotage.meta.documents import Document
from pilotage.meta.patches.lookup import MergeSchema, ValuesSchema

_MISMATCH = re.compile(r"json: cannot unmarshal (\w+)(?: \S+)? into field (\S+) of type (\w+)")
_STEP = re.compile(r"\.?([^.\[\]]+)")
_GO_KINDS = {"object": "map", "array": "slice", "boolean": "bool"}


def unrestorable(reason: str, patched: Document, schema: MergeSchema) -> str:
    """`reason`, about a value of a wrong JSON type, in kube-apiserver's words."""
    match = _MISMATCH.fullmatch(reason)
    if match is None:
        return reason
    found, field, wanted = match.groups()
    path = _STEP.findall(field)
    given = _go_kind(found, path, patched)
    if wanted == "object":
        return f"cannot restore map from {given}" if _is_map(path, schema) else f"cannot restore struct from: {given}"
    if wanted == "array":
        return f"cannot restore slice from {given}"
    if (given, wanted) == ("int64", "string") or (given == "float64" and wanted.startswith("int")):
        return f"cannot convert {given} to {wanted}"
    return f"unrecognized type: {_GO_KINDS.get(wanted, wanted)}"


def _go_kind(json_type: str, path: list[str], patched: Document) -> str:
    if json_type != "number":
        return _GO_KINDS.get(json_type, json_type)
    value: Any = patched
    for step in path:
        if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return "float64" if isinstance(value, float) else "int64"


def _is_map(path: list[str], schema: MergeSchema) -> bool:
    """Whether the keys of the object at `path` are data."""
    at: MergeSchema | None = schema
    for step in path:
        if at is not None and not step.isdecimal():  # an index: the schema is already the schema of the items
            at = at.child(step)
    return isinstance(at, ValuesSchema)
