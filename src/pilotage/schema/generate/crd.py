"""CustomResourceDefinitions from Resource classes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from pilotage.errors import Cause, InvalidDefinition, MissingExtra
from pilotage.meta.kinds import GroupKind, version_priority
from pilotage.meta.models import Resource, ResourceDefinition
from pilotage.schema.generate import names
from pilotage.schema.generate.description import ObjectOf, TypeDescription, inside, invalid
from pilotage.schema.generate.hints import describe, place_of
from pilotage.schema.generate.openapi import with_rules
from pilotage.schema.generate.version import version_of

# One step down in a path of a cause: `.properties[spec]`, `.items`, `.additionalProperties`.
_STEP = re.compile(r"\.(?:properties\[([^\]]+)\]|(items|additionalProperties)(?![A-Za-z]))")
_INVALID = "Invalid value: "
_RULE_OF_VALUE = re.compile(r"Invalid value: .* in body ((?:must|should) .*?)(?:: \"\w+\")?")
"""Kubernetes' message about a value of an object, whose field has no name where the value is a default."""
_VERSION = re.compile(r"spec\.versions\[([0-9]+)\]")


def crd(*types: type[Resource]) -> dict[str, Any]:
    """The CustomResourceDefinition of one kind, with a version for each class.

    Raises InvalidDefinition with the place in Python, the reason and what to do.
    """
    infos = _infos(types)
    _check(types, infos)
    document: dict[str, Any] = msgspec.json.decode(_draft(types, infos).encoded)
    return document


def crds(types: Iterable[type[Resource]]) -> list[dict[str, Any]]:
    """One CustomResourceDefinition for each kind among `types`, in the order in which the kinds first appear."""
    return [crd(*classes) for classes in _kinds(types)]


def unchecked_crds(types: Iterable[type[Resource]]) -> list[dict[str, Any]]:
    """The same, not validated as an API server does: to compare with what is stored, which a server has validated."""
    return [msgspec.json.decode(_draft(classes, _infos(classes)).encoded) for classes in _kinds(types)]


def check_crds(types: Iterable[type[Resource]]) -> None:
    """Raise InvalidDefinition for classes that no API server would accept."""
    for classes in _kinds(types):
        _check(classes, _infos(classes))


class _Draft(NamedTuple):
    """A definition that is not validated yet."""

    encoded: bytes
    classes: list[type[Resource]]
    """Those of its versions, in their order."""
    trees: list[ObjectOf]


@lru_cache(maxsize=64)  # each test of a suite installs the same classes, and a large one takes a tenth of a second
def _draft(types: tuple[type[Resource], ...], _: bytes) -> _Draft:
    classes = _classes(types)
    infos = [cls.__resource__ for cls in classes]
    _check_versions(classes)
    for cls, info in zip(classes, infos, strict=True):
        for what, remedy in names.name_problems(info):
            raise invalid(place_of(cls), what, remedy)
    trees = [with_rules(describe(cls), info) for cls, info in zip(classes, infos, strict=True)]
    versions = [version_of(cls, tree) for cls, tree in zip(classes, trees, strict=True)]
    return _Draft(msgspec.json.encode(_document(classes, versions)), classes, trees)


@lru_cache(maxsize=64)
def _check(types: tuple[type[Resource], ...], infos: bytes) -> None:
    draft = _draft(types, infos)
    _check_document(msgspec.json.decode(draft.encoded), draft.classes, draft.trees)


def _infos(types: Sequence[type[Resource]]) -> bytes:
    """What classes are registered as, which a program may replace."""
    return msgspec.json.encode([getattr(cls, "__resource__", None) for cls in types], enc_hook=repr)


def _kinds(types: Iterable[type[Resource]]) -> list[tuple[type[Resource], ...]]:
    """The classes of each kind."""
    kinds: dict[GroupKind, list[type[Resource]]] = {}
    for cls in types:
        kinds.setdefault(_info(cls).gvk.group_kind, []).append(cls)
    return [tuple(classes) for classes in kinds.values() if not all(_info(cls).skip for cls in classes)]


def _info(cls: type[Resource]) -> ResourceDefinition:
    info = getattr(cls, "__resource__", None)
    if not isinstance(info, ResourceDefinition):
        raise invalid(
            place_of(cls), "it has no group and version", 'decorate it with @resource(group="…", version="…")'
        )
    if info.builtin:
        raise invalid(
            place_of(cls), f"{info.gvk.kind} is built into Kubernetes", "it needs no CustomResourceDefinition"
        )
    return info


def _classes(types: Sequence[type[Resource]]) -> list[type[Resource]]:
    """The classes that become versions, in the order of Kubernetes' version priority."""
    kinds = {_info(cls).gvk.group_kind: cls for cls in types}
    if len(kinds) > 1:
        raise InvalidDefinition(f"crd() takes classes of one kind, not of {' and '.join(map(str, kinds))}; use crds()")
    kept = [cls for cls in types if not _info(cls).skip]
    if not kept:
        raise InvalidDefinition("a CRD needs at least one class without skip=True; pass one class for each version")
    return sorted(kept, key=lambda cls: version_priority(_info(cls).gvk.version))


def _check_versions(classes: Sequence[type[Resource]]) -> None:
    infos = [cls.__resource__ for cls in classes]
    first, place = infos[0], place_of(classes[0])
    for cls, info in zip(classes[1:], infos[1:], strict=True):
        for what in ("plural", "singular", "namespaced", "list_kind"):
            if getattr(info, what) != getattr(first, what):
                raise invalid(
                    place_of(cls),
                    f"{what} is {getattr(info, what)!r}, but {getattr(first, what)!r} in {place}",
                    "use the same in all versions of a kind",
                )
    versions = [info.gvk.version for info in infos]
    for cls, version in zip(classes, versions, strict=True):
        if versions.count(version) > 1:
            raise invalid(
                place_of(cls), f"version {version} is defined twice", "use another version in one of the classes"
            )
    stored = [place_of(cls) for cls, info in zip(classes, infos, strict=True) if info.storage]
    if len(stored) != 1:
        which = (
            f"several versions are storage versions ({', '.join(stored)})"
            if stored
            else "no version is the storage version"
        )
        raise invalid(place, which, "set storage=True on exactly one class")
    if not any(info.served for info in infos):
        raise invalid(place, "no version is served", "set served=True on at least one class")


def _document(classes: Sequence[type[Resource]], versions: list[dict[str, Any]]) -> dict[str, Any]:
    infos = [cls.__resource__ for cls in classes]
    info = infos[0]
    metadata: dict[str, Any] = {"name": f"{info.plural}.{info.gvk.group}"}
    for key in ("labels", "annotations"):
        if found := _merged(classes, key):
            metadata[key] = found
    kind_names: dict[str, Any] = {
        "kind": info.gvk.kind,
        "listKind": info.list_kind,
        "plural": info.plural,
        "singular": info.singular,
    }
    for key, attribute in (("shortNames", "short_names"), ("categories", "categories")):
        if every := list(dict.fromkeys(name for each in infos for name in getattr(each, attribute))):
            kind_names[key] = every
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": info.gvk.group,
            "names": kind_names,
            "scope": "Namespaced" if info.namespaced else "Cluster",
            "versions": versions,
        },
    }


def _merged(classes: Sequence[type[Resource]], attribute: str) -> dict[str, str]:
    merged: dict[str, str] = {}
    for cls in classes:
        for key, value in getattr(cls.__resource__, attribute).items():
            if merged.setdefault(key, value) != value:
                raise invalid(
                    place_of(cls),
                    f"{attribute} have another value for {key!r} than another version",
                    "set the same value, or set it once",
                )
    return merged


def _check_document(document: dict[str, Any], classes: Sequence[type[Resource]], trees: Sequence[ObjectOf]) -> None:
    """Validate the whole document as an API server does."""
    from pilotage.schema.definition import (
        definition_causes,
    )  # loads the CEL modules, which a schema alone does not need

    try:
        causes = definition_causes(document)
    except MissingExtra:  # CEL is optional here: the server that gets the CRD checks the rules
        causes = definition_causes(_without_rules(document))
    if causes:
        found = [
            f"{_locate(cause.field, classes, trees)}: {_about_default(cause, document) or _reason(cause)} "
            f"(at {cause.field})"
            for cause in causes
        ]
        raise InvalidDefinition("; ".join(found))


def _without_rules(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_rules(each) for key, each in value.items() if key != "x-kubernetes-validations"}
    return [_without_rules(each) for each in value] if isinstance(value, list) else value


def _reason(cause: Cause) -> str:
    """The message of a cause in one line. Kubernetes shows the whole rule; only the expression is useful here."""
    message = cause.message
    if message.startswith(_INVALID + "{"):
        shown, end = json.JSONDecoder().raw_decode(message, len(_INVALID))
        message = f"the rule {shown['Rule']!r}{message[end:]}" if "Rule" in shown else message
    return message.partition("\n")[0]


def _about_default(cause: Cause, document: dict[str, Any]) -> str:
    """The message of a cause about a default, with the value as it is in the class; empty for another cause."""
    version, (_, _, path) = _VERSION.match(cause.field), cause.field.partition("openAPIV3Schema")
    names = re.findall(r"[^.\[\]]+", path)
    if "default" not in names:
        return ""
    value = document["spec"]["versions"][int(version[1]) if version else 0]["schema"]["openAPIV3Schema"]
    try:
        for name in names:
            value = value[int(name)] if isinstance(value, list) else value[name]
    except (LookupError, TypeError, ValueError):  # the cause is about a field that the default does not have
        return ""
    reason = _reason(cause)
    rule = _RULE_OF_VALUE.fullmatch(reason)
    return f"the default {value!r} {rule[1]}" if rule else f"the default {value!r}: {reason}"


def _locate(field: str, classes: Sequence[type[Resource]], trees: Sequence[ObjectOf]) -> str:
    """The place in Python for a path in the document: the field, or else the class."""
    version = _VERSION.match(field)
    index = int(version[1]) if version else 0
    here, place = trees[index], place_of(classes[index])
    _, _, path = field.partition("openAPIV3Schema")
    part: TypeDescription = here
    for step in _STEP.finditer(path):
        inner = inside(part, step[1] or step[2])
        if inner is None:
            break
        part, place = inner, inner.place
    return place
