"""What a changed CustomResourceDefinition would break: objects that are stored already, or clients that use it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pilotage.schema.compatibility.schemas import Finding, breaks, mapping, mappings, schema_changes, values, warns

_NAMES = (("shortNames", "short name"), ("categories", "category"))


@dataclass(frozen=True)
class Change:
    """One change: where, what, and why it matters."""

    crd: str
    """The CRD's name, `plural.group`."""
    path: str
    """Where it is: in `spec`, or in a version's objects as `v1 .spec.replicas`."""
    message: str
    level: Literal["break", "warning"] = "break"

    def __str__(self) -> str:
        word = "breaks" if self.level == "break" else "warning"
        return f"{word}: {self.crd} {self.path}: {self.message}"


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """What is different for stored objects and clients, from one CRD document to the next. Additions are no change."""
    name = _name(old)
    return [Change(name, finding.path, finding.message, finding.level) for finding in _findings(old, new)]


def all_changes(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> list[Change]:
    """The changes of every CRD in `old`, matched by name, or by group and kind where the name has changed."""
    found: list[Change] = []
    for before in old:
        after = _match(before, new)
        if after is None:
            found.append(
                Change(_name(before), "metadata.name", "the kind is gone: with its CRD, all its objects are deleted")
            )
        else:
            found += changes(before, after)
    return found


def _match(old: Mapping[str, Any], candidates: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    by_name = [each for each in candidates if _name(each) == _name(old)]
    by_kind = [each for each in candidates if _kind(each) == _kind(old)]
    return next(iter(by_name + by_kind), None)


def _findings(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Finding]:
    before, after = mapping(old, "spec"), mapping(new, "spec")
    yield from _identity(before, after)
    old_versions = {str(version.get("name")): version for version in mappings(before, "versions")}
    new_versions = {str(version.get("name")): version for version in mappings(after, "versions")}
    yield from _stored(old, old_versions, new_versions)
    for name, version in old_versions.items():
        if name not in new_versions:
            why = "clients that use it fail" if version.get("served") else "nobody can serve it again"
            yield breaks(f"spec.versions[{name}]", f"the version is gone: {why}")
        else:
            yield from _version(name, version, new_versions[name])


def _identity(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Finding]:
    old_names, new_names = mapping(before, "names"), mapping(after, "names")
    for path, old, new in (
        ("spec.scope", before.get("scope"), after.get("scope")),
        ("spec.names.kind", old_names.get("kind"), new_names.get("kind")),
        ("spec.names.plural", old_names.get("plural"), new_names.get("plural")),
    ):
        if old != new:
            yield breaks(
                path, f"changed from {old} to {new}: no update can do that; it means a new CRD and new objects"
            )
    for key, word in _NAMES:
        for gone in [name for name in values(old_names, key) if name not in values(new_names, key)]:
            yield warns(f"spec.names.{key}", f"the {word} {gone!r} is gone: people and scripts that use it fail")


def _stored(
    old: Mapping[str, Any], before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]]
) -> Iterator[Finding]:
    """What becomes of objects that are stored in the old versions."""
    for name in values(mapping(old, "status"), "storedVersions"):
        if name not in after:
            yield breaks(f"status.storedVersions[{name}]", "objects may be stored in this version, which is gone")
    was = next((name for name, version in before.items() if version.get("storage")), None)
    now = next((name for name, version in after.items() if version.get("storage")), None)
    if was is None or now is None or was == now:
        return
    if was not in after:
        yield breaks(f"spec.versions[{was}]", "objects are stored in this version, and it is gone: they cannot be read")
        return
    yield warns(
        f"spec.versions[{now}]", f"objects are stored in it from now on; write each once more before {was} can go"
    )
    yield from schema_changes(f"{was} -> {now} ", _schema(before[was]), _schema(after[now]))


def _version(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Finding]:
    path = f"spec.versions[{name}]"
    if before.get("served") and not after.get("served"):
        yield breaks(f"{path}.served", "the version is not served any more: clients that use it fail")
    if after.get("deprecated") and not before.get("deprecated"):
        yield warns(f"{path}.deprecated", "the version is deprecated now: its users see a warning")
    yield from _subresources(path, mapping(before, "subresources"), mapping(after, "subresources"))
    kept = [field.get("jsonPath") for field in mappings(after, "selectableFields")]
    for field in mappings(before, "selectableFields"):
        if field.get("jsonPath") not in kept:
            yield breaks(
                f"{path}.selectableFields", f"{field.get('jsonPath')} is gone: lists and watches that select by it fail"
            )
    yield from schema_changes(f"{name} ", _schema(before), _schema(after))


def _subresources(path: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Finding]:
    if "status" in old and "status" not in new:
        yield breaks(f"{path}.subresources.status", "the status subresource is gone: controllers that write it fail")
    if "status" in new and "status" not in old:
        yield breaks(
            f"{path}.subresources.status",
            "status is a subresource now: what writes it with the whole object is ignored",
        )
    if "scale" in old and "scale" not in new:
        yield breaks(f"{path}.subresources.scale", "the scale subresource is gone: kubectl scale and autoscalers fail")
    elif "scale" in old and old["scale"] != new["scale"]:
        yield warns(f"{path}.subresources.scale", "the scale subresource reads other fields now")


def _schema(version: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(version, "schema"), "openAPIV3Schema")


def _name(document: Mapping[str, Any]) -> str:
    return str(mapping(document, "metadata").get("name", ""))


def _kind(document: Mapping[str, Any]) -> tuple[Any, Any]:
    spec = mapping(document, "spec")
    return spec.get("group"), mapping(spec, "names").get("kind")
