"""A Python module for CustomResourceDefinitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pilotage.meta.kinds import version_priority
from pilotage.schema.source.builtin import import_of
from pilotage.schema.source.models import Models
from pilotage.schema.source.names import class_name, is_builtin_module
from pilotage.schema.source.pythontypes import ALIASES
from pilotage.schema.source.resource import Version, resource_source
from pilotage.schema.source.text import WIDTH, docstring

_IMPORTED = {"Annotated", "Any", "Literal"}


def versions_of(definition: dict[str, Any]) -> list[Version]:
    """The versions of a definition, by Kubernetes' priority."""
    found = [Version(definition, version) for version in definition["spec"]["versions"]]
    return sorted(found, key=lambda each: version_priority(each.version["name"]))


def module_of(versions: Sequence[Version], text: str, *, external: bool = False) -> str:
    """The source of a module with a class for each version, and `text` as its docstring.

    Of several versions of a kind, those that are not stored have the version in the names of their classes. `external`
    kinds belong to another program, and are left out of the CRDs that this one installs.
    """
    models = Models(set(ALIASES) | _IMPORTED)
    roots = {id(version): _class_of(version, versions, models) for version in versions}
    for version in versions:
        models.collect(version.schema)
    parts = []
    for version in versions:
        before = len(models.classes)
        resource = resource_source(version, roots[id(version)], models, external)
        parts += [model.source() for model in models.classes[before:]] + [resource]
    made = docstring(text, 0) + "\n" + _head(models.names) + "\n\n" + "\n\n".join(parts)
    if any(len(line) > WIDTH for line in made.split("\n")):
        made = f"# ruff: noqa: E501\n{made}"  # rules and patterns cannot be wrapped
    return made


def _class_of(version: Version, versions: Sequence[Version], models: Models) -> str:
    others = [each for each in versions if each.kind == version.kind and each is not version]
    suffix = version.version["name"].capitalize() if others and not version.version.get("storage") else ""
    name = class_name((version.kind, suffix) if suffix else (version.kind,), models.taken)
    models.taken.add(name)
    return name


def _head(names: set[str]) -> str:
    """Imports and aliases."""
    typing = sorted((names & _IMPORTED) | ({"Annotated"} if names & set(ALIASES) else set()))
    lines = [f"from typing import {', '.join(typing)}\n"] if typing else []
    lines += ["import pilotage as pt"]
    lines += sorted(import_of(name) for name in names if is_builtin_module(name))
    aliases = "".join(f"{name} = {ALIASES[name]}\n" for name in sorted(names & set(ALIASES)))
    return "\n".join(lines) + "\n" + (f"\n{aliases}" if aliases else "")
