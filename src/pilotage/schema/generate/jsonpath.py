"""Resolves the JSONPaths of a CRD (printer columns, selectable fields, scale) in its schema."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

from pilotage.meta.values import Value

_STEP = re.compile(
    r"""\.(?P<name>(?:[^.\[\]\\\s'"]|\\.)+)      # .name, with a dot in it as \.
      | \[(?P<quote>['"])(?P<key>(?:(?!(?P=quote)).)+)(?P=quote)\]   # ['name']
      | \[(?P<index>-?\d+|-?\d*:-?\d*(?::\d+)?|\*)\]      # [0], [1:3], [*]
      | \[\?\((?P<filter>@[^\[\]]+)\)\]           # [?(@.type=="Ready")]
    """,
    re.VERBOSE,
)
_METADATA = {
    "creationTimestamp": {"type": "string", "format": "date-time"},
    "deletionTimestamp": {"type": "string", "format": "date-time"},
    "generation": {"type": "integer", "format": "int64"},
    "deletionGracePeriodSeconds": {"type": "integer", "format": "int64"},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
    "finalizers": {"type": "array", "items": {"type": "string"}},
    "ownerReferences": {"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": True}},
}
_METADATA_TEXTS = ("name", "generateName", "namespace", "uid", "resourceVersion", "selfLink")
FREE: dict[str, Any] = {"x-kubernetes-preserve-unknown-fields": True}
"""The schema that accepts any value."""


class Step(Value, frozen=True):
    """One step of a path: into a field, or into the items of a list."""

    name: str = ""
    items: bool = False
    many: bool = False
    """Whether it may select several values."""


class Unresolved(Value, frozen=True):
    """A path that cannot be resolved, and why."""

    reason: str


def parse(path: str) -> list[Step] | Unresolved:
    """The steps of a path. Kubernetes' JSONPath has more forms; these are the ones that select a field."""
    if not path.startswith("."):
        return Unresolved("it does not start with a dot")
    steps: list[Step] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            return Unresolved(f"it cannot be parsed from {path[position:]!r} on")
        steps.append(_step(match))
        position = match.end()
    return steps


def resolve(schema: dict[str, Any], path: str) -> dict[str, Any] | Unresolved:
    """The schema of the values that a path selects, in the schema of a whole resource."""
    steps = parse(path)
    if isinstance(steps, Unresolved):
        return steps
    properties = dict(schema.get("properties", {}))
    texts = {name: {"type": "string"} for name in _METADATA_TEXTS}
    properties["metadata"] = {"type": "object", "properties": _METADATA | texts}
    here: dict[str, Any] = {**schema, "properties": properties}
    for step in steps:
        there = _into(here, step)
        if isinstance(there, Unresolved):
            return there
        here = there
    return {"type": "array", "items": here} if any(step.many for step in steps) else here


def _step(match: re.Match[str]) -> Step:
    if match["name"]:
        return Step(re.sub(r"\\(.)", r"\1", match["name"]))
    if match["key"]:
        return Step(match["key"])
    return Step(items=True, many=match["index"] is not None and not match["index"].lstrip("-").isdigit())


def _into(schema: dict[str, Any], step: Step) -> dict[str, Any] | Unresolved:
    inner: dict[str, Any] | None = schema.get("items") if step.items else schema.get("properties", {}).get(step.name)
    if inner is None and not step.items:
        inner = schema.get("additionalProperties")
    if inner is not None:
        return inner
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return FREE
    if step.items:
        return Unresolved("it selects an item of something that is not a list")
    close = get_close_matches(step.name, schema.get("properties", {}), 1)
    return Unresolved(f"there is no field {step.name!r}" + (f" (did you mean {close[0]!r}?)" if close else ""))
