"""Resources inside resources: their apiVersion, kind and metadata."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pilotage.errors import Cause
from pilotage.meta import causes
from pilotage.meta.kinds import GroupVersion
from pilotage.meta.names import path_segment_name
from pilotage.schema.structural.node import Node
from pilotage.schema.structural.paths import MapKey, Path, Problem, dotted, steps_of

Walk = Callable[[Any, Path, list[Problem]], None]

_KIND = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_KIND_RULE = (
    "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric "
    "characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  "
    "or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_STRINGS = ("name", "generateName", "namespace", "uid", "resourceVersion")
_STRING_MAPS = ("labels", "annotations")


def compile_embedded(node: Node) -> Walk | None:
    """A walk over everything below `node`; None where no resource is embedded."""
    inside = _inside(node)
    here = node.schema.get("x-kubernetes-embedded-resource") is True
    if inside is None and not here:
        return None

    def walk(value: Any, path: Path, out: list[Problem]) -> None:
        if here and isinstance(value, dict):
            steps = steps_of(path)
            at = dotted(steps, keys_in_brackets=True)
            out.extend(Problem(steps, cause, len(steps), ratchets=False) for cause in resource_causes(value, at))
        if inside is not None:
            inside(value, path, out)

    return walk


def _inside(node: Node) -> Walk | None:
    compiled = {name: compile_embedded(child) for name, child in node.properties.items()}
    children = {name: child for name, child in compiled.items() if child is not None}
    additional = compile_embedded(node.additional) if node.additional is not None else None
    items = compile_embedded(node.items) if node.items is not None else None
    if not children and additional is None and items is None:
        return None

    def walk(value: Any, path: Path, out: list[Problem]) -> None:
        if isinstance(value, dict):
            for name, each in value.items():
                if name in children:
                    children[name](each, (path, name), out)
                elif additional is not None:
                    additional(each, (path, MapKey(name)), out)
        elif isinstance(value, list) and items is not None:
            for index, each in enumerate(value):
                items(each, (path, index), out)

    return walk


def resource_causes(value: dict[str, Any], at: str) -> list[Cause]:
    """What is wrong with the head of an embedded resource."""
    found: list[Cause] = []
    prefix = f"{at}." if at else ""
    for name, rule in (("apiVersion", _version_rule), ("kind", _kind_rule)):
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


def _kind_rule(value: str) -> str:
    return "" if _KIND.fullmatch(value.lower()) else _KIND_RULE


def _metadata_causes(metadata: Any, at: str) -> list[Cause]:
    """Metadata is only looked at for its types; names and labels are the server's to judge."""
    if not isinstance(metadata, dict):
        return [causes.invalid(at, metadata, "must be an object")]
    found = [
        causes.invalid(f"{at}.{name}", metadata[name], "must be a string")
        for name in _STRINGS
        if not isinstance(metadata.get(name, ""), str)
    ]
    called = metadata.get("name")
    if isinstance(called, str) and (broken := path_segment_name(called)):
        found.append(causes.invalid(f"{at}.name", called, broken[0]))
    for name in _STRING_MAPS:
        entries = metadata.get(name) or {}
        if not isinstance(entries, dict) or not all(isinstance(each, str) for each in entries.values()):
            found.append(causes.invalid(f"{at}.{name}", entries, "must be a map of strings"))
    return found
