"""Embedded resources (`x-kubernetes-embedded-resource`): checks of their apiVersion, kind and metadata."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pilotage.errors import Cause
from pilotage.meta import causes
from pilotage.meta.kinds import GroupVersion
from pilotage.meta.validation.names import dns_1035_label
from pilotage.meta.validation.objectmeta import object_meta_causes
from pilotage.schema.structural.node import Node
from pilotage.schema.structural.paths import Path, Problem, dotted, steps_of
from pilotage.schema.structural.walk import Walk


@dataclass(frozen=True, slots=True)
class EmbeddedObject:
    """A resource in a document, and where it is."""

    path: Path
    value: dict[str, Any]

    @property
    def at(self) -> str:
        return dotted(steps_of(self.path), keys_in_brackets=True)

    def problems(self) -> Iterator[Problem]:
        """What is wrong with its apiVersion, kind and metadata."""
        steps = steps_of(self.path)
        for cause in resource_causes(self.value, self.at):
            yield Problem(steps, cause, len(steps), ratchets=False)


def embedded_resource(node: Node) -> Walk[EmbeddedObject] | None:
    """Finds the value of a node if it is an embedded resource; None for any other node."""
    return _find if node.schema.get("x-kubernetes-embedded-resource") is True else None


def _find(value: Any, path: Path, found: list[EmbeddedObject]) -> None:
    if isinstance(value, dict):
        found.append(EmbeddedObject(path, value))


def kind_rule(kind: str) -> str:
    """The rules for kinds that a text breaks; empty if it breaks none."""
    broken = dns_1035_label(kind.lower())
    return f"may have mixed case, but should otherwise match: {','.join(broken)}" if broken else ""


def resource_causes(value: dict[str, Any], at: str) -> list[Cause]:
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
    """The same checks as for the metadata of a whole object, except that a name is not required."""
    if not isinstance(metadata, dict):
        return [causes.invalid(at, metadata, "must be an object")]
    named = metadata if metadata.get("name") else {**metadata, "name": "none"}
    found = object_meta_causes(named, namespaced=bool(metadata.get("namespace")), name="path")
    return [cause.replace(field=at + cause.field.removeprefix("metadata")) for cause in found]
