"""Embedded resources (`x-kubernetes-embedded-resource`): checks of their apiVersion, kind and metadata."""

from __future__ import annotations

from typing import Any

from pilotage.errors import Cause
from pilotage.meta import causes
from pilotage.meta.kinds import GroupVersion
from pilotage.meta.names import dns_1035_label, path_segment_name
from pilotage.schema.structural.node import Node
from pilotage.schema.structural.paths import Path, Problem, dotted, steps_of
from pilotage.schema.structural.walk import Walk

_STRINGS = ("name", "generateName", "namespace", "uid", "resourceVersion")
_STRING_MAPS = ("labels", "annotations")


def embedded_check(node: Node) -> Walk | None:
    """The check of an embedded resource; None for any other node."""
    return _check_resource if node.schema.get("x-kubernetes-embedded-resource") is True else None


def kind_rule(kind: str) -> str:
    """The rules for kinds that a text breaks; empty if it breaks none."""
    broken = dns_1035_label(kind.lower())
    return f"may have mixed case, but should otherwise match: {','.join(broken)}" if broken else ""


def _check_resource(value: Any, path: Path, out: list[Problem]) -> None:
    if isinstance(value, dict):
        steps = steps_of(path)
        at = dotted(steps, keys_in_brackets=True)
        out.extend(Problem(steps, cause, len(steps), ratchets=False) for cause in _resource_causes(value, at))


def _resource_causes(value: dict[str, Any], at: str) -> list[Cause]:
    """What is wrong with apiVersion, kind and metadata."""
    found: list[Cause] = []
    prefix = f"{at}." if at else ""
    for name, rule in (("apiVersion", _version_rule), ("kind", kind_rule)):
        if name not in value:
            found.append(causes.required(f"{prefix}{name}"))
        elif broken := _text_rule(value[name]) or rule(value[name]):
            found.append(causes.invalid(f"{prefix}{name}", value[name], broken))
    if "metadata" in value:
        found += _metadata_causes(value["metadata"], f"{prefix}metadata")
    return found


def _text_rule(value: Any) -> str:
    if not isinstance(value, str):
        return "must be a string"
    return "" if value else "must not be empty"


def _version_rule(value: str) -> str:
    try:
        GroupVersion.parse(value)
    except ValueError as error:
        return str(error)
    return ""


def _metadata_causes(metadata: Any, at: str) -> list[Cause]:
    """As Kubernetes does, check the types of metadata and the name, but no labels and annotations."""
    if not isinstance(metadata, dict):
        return [causes.invalid(at, metadata, "must be an object")]
    found = [
        causes.invalid(f"{at}.{name}", metadata[name], "must be a string")
        for name in _STRINGS
        if not isinstance(metadata.get(name, ""), str)
    ]
    resource_name = metadata.get("name")
    if isinstance(resource_name, str) and (broken := path_segment_name(resource_name)):
        found.append(causes.invalid(f"{at}.name", resource_name, broken[0]))
    for name in _STRING_MAPS:
        entries = metadata.get(name) or {}
        if not isinstance(entries, dict) or not all(isinstance(each, str) for each in entries.values()):
            found.append(causes.invalid(f"{at}.{name}", entries, "must be a map of strings"))
    return found
