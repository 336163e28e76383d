"""Compares two CustomResourceDefinitions: which changes break stored objects or clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pilotage.meta.paths import items, part
from pilotage.schema.compatibility.schemas import Finding, breaks, mappings, schema_changes, warns

_NAMES = (("shortNames", "short name"), ("categories", "category"))


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """One change: where, what, and its effect."""

    crd: str
    """The CRD's name, `plural.group`."""
    path: str
    """Where it is: in `spec`, or in a version's objects as `v1 .spec.replicas`."""
    message: str
    level: Literal["break", "warning"] = "break"

    def __str__(self) -> str:
        word = "breaks" if self.level == "break" else "warning"
        return f"{word}: {self.crd} {self.path}: {self.message}"


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[DefinitionChange]:
    """The changes between two versions of a CRD that stored objects or clients notice. Additions are not among them."""
    name = _name(old)
    return [DefinitionChange(name, finding.path, finding.message, finding.level) for finding in _findings(old, new)]


def all_changes(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> list[DefinitionChange]:
    """The changes of every CRD in `old`, matched by name, or by group and kind where the name has changed."""
    found: list[DefinitionChange] = []
    for before in old:
        after = _match(before, new)
        if after is None:
            found.append(
                DefinitionChange(
                    _name(before), "metadata.name", "the kind was removed: deleting its CRD deletes all objects"
                )
            )
        else:
            found += changes(before, after)
    return found


def _match(old: Mapping[str, Any], candidates: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    by_name = [each for each in candidates if _name(each) == _name(old)]
    by_kind = [each for each in candidates if _kind(each) == _kind(old)]
    return next(iter(by_name + by_kind), None)


def _findings(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Finding]:
    before, after = part(old, "spec"), part(new, "spec")
    yield from _identity(before, after)
    old_versions = {str(version.get("name")): version for version in mappings(before, "versions")}
    new_versions = {str(version.get("name")): version for version in mappings(after, "versions")}
    yield from _stored(old, old_versions, new_versions)
    for name, version in old_versions.items():
        if name not in new_versions:
            effect = "clients that use it fail" if version.get("served") else "it cannot be served again"
            yield breaks(f"spec.versions[{name}]", f"the version was removed: {effect}")
        else:
            yield from _version(name, version, new_versions[name])


def _identity(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Finding]:
    old_names, new_names = part(before, "names"), part(after, "names")
    for path, old, new in (
        ("spec.scope", before.get("scope"), after.get("scope")),
        ("spec.names.kind", old_names.get("kind"), new_names.get("kind")),
        ("spec.names.plural", old_names.get("plural"), new_names.get("plural")),
    ):
        if old != new:
            yield breaks(
                path, f"changed from {old} to {new}: API servers reject the update; it needs a new CRD and new objects"
            )
    for key, word in _NAMES:
        for removed in [name for name in items(old_names, key) if name not in items(new_names, key)]:
            yield warns(
                f"spec.names.{key}", f"the {word} {removed!r} was removed: commands and scripts that use it fail"
            )


def _stored(
    old: Mapping[str, Any], before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]]
) -> Iterator[Finding]:
    """What happens to objects that are stored in the old versions."""
    for name in items(old, "status", "storedVersions"):
        if name not in after:
            yield breaks(f"status.storedVersions[{name}]", "the version was removed, but objects may be stored in it")
    was = next((name for name, version in before.items() if version.get("storage")), None)
    now = next((name for name, version in after.items() if version.get("storage")), None)
    if was is None or now is None or was == now:
        return
    if was not in after:
        yield breaks(
            f"spec.versions[{was}]", "the version was removed, but objects are stored in it: they cannot be read"
        )
        return
    yield warns(
        f"spec.versions[{now}]",
        f"new writes are stored in this version: write each object once more before {was} is removed",
    )
    yield from schema_changes(f"{was} -> {now} ", _schema(before[was]), _schema(after[now]))


def _version(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Finding]:
    path = f"spec.versions[{name}]"
    if before.get("served") and not after.get("served"):
        yield breaks(f"{path}.served", "the version is no longer served: clients that use it fail")
    if after.get("deprecated") and not before.get("deprecated"):
        yield warns(f"{path}.deprecated", "the version is now deprecated: its clients receive a warning")
    yield from _subresources(path, part(before, "subresources"), part(after, "subresources"))
    kept = [field.get("jsonPath") for field in mappings(after, "selectableFields")]
    for field in mappings(before, "selectableFields"):
        if field.get("jsonPath") not in kept:
            yield breaks(
                f"{path}.selectableFields",
                f"{field.get('jsonPath')} was removed: lists and watches that select by it fail",
            )
    yield from schema_changes(f"{name} ", _schema(before), _schema(after))


def _subresources(path: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Finding]:
    if "status" in old and "status" not in new:
        yield breaks(
            f"{path}.subresources.status", "the status subresource was removed: controllers that write it fail"
        )
    if "status" in new and "status" not in old:
        yield breaks(
            f"{path}.subresources.status",
            "status is now a subresource: status in writes of the whole object is ignored",
        )
    if "scale" in old and "scale" not in new:
        yield breaks(
            f"{path}.subresources.scale", "the scale subresource was removed: kubectl scale and autoscalers fail"
        )
    elif "scale" in old and old["scale"] != new["scale"]:
        yield warns(f"{path}.subresources.scale", "the scale subresource now uses other fields")


def _schema(version: Mapping[str, Any]) -> Mapping[str, Any]:
    return part(version, "schema", "openAPIV3Schema")


def _name(document: Mapping[str, Any]) -> str:
    return str(part(document, "metadata").get("name", ""))


def _kind(document: Mapping[str, Any]) -> tuple[Any, Any]:
    spec = part(document, "spec")
    return spec.get("group"), part(spec, "names").get("kind")
