"""CustomResourceDefinitions: what the server fills in, when their names are accepted, and what they make served."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.mapper import RESTMapping
from pilotage.schema import definition as rules
from pilotage.schema.structural import StructuralSchema
from pilotage.server.records import Document
from pilotage.server.served import Served

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_TERMINATING_VERBS = ("delete", "deletecollection", "get", "list", "watch")


def prepare(document: Document, old: Document | None, now: str) -> None:
    """Defaults, stored versions, and the finalizer that keeps a definition until its objects are gone."""
    rules.apply_definition_defaults(document)
    storage = next((version["name"] for version in _versions(document) if version.get("storage") is True), None)
    status = document["status"] = dict(old.get("status", {})) if old is not None else {}
    stored = list(status.get("storedVersions", []))
    if storage is not None and storage not in stored:
        stored.append(storage)
    status["storedVersions"] = stored
    metadata = document["metadata"]
    if old is None and CLEANUP not in metadata.get("finalizers", ()):
        metadata["finalizers"] = [*metadata.get("finalizers", ()), CLEANUP]


def causes(document: Document, old: Document | None) -> list[Cause]:
    """Everything that is wrong with a definition."""
    found = rules.definition_causes(document)
    if old is not None:
        found += rules.definition_update_causes(document, old)
    return found


def accept_names(document: Document, others: Iterable[Document], now: str) -> None:
    """Set acceptedNames and the conditions, in place, by what the other definitions of the group have taken."""
    names = document["spec"]["names"]
    group, own = document["spec"]["group"], document["metadata"]["name"]
    rivals = [
        other["status"].get("acceptedNames", {})
        for other in others
        if other["spec"]["group"] == group and other["metadata"]["name"] != own
    ]
    plain = {name for rival in rivals for name in _resource_names(rival)}
    kinds = {rival.get(key) for rival in rivals for key in ("kind", "listKind")} - {None, ""}
    accepted: Document = {}
    conflict: tuple[str, str] | None = None
    for key, reason, taken in (
        ("plural", "PluralConflict", plain),
        ("singular", "SingularConflict", plain),
        ("kind", "KindConflict", kinds),
        ("listKind", "ListKindConflict", kinds),
    ):
        if names.get(key) in taken:
            conflict = (reason, f'"{names[key]}" is already in use')
        else:
            accepted[key] = names[key]
    if taken_short := [name for name in names.get("shortNames", ()) if name in plain]:
        conflict = conflict or ("ShortNamesConflict", f'"{taken_short[0]}" is already in use')
    elif names.get("shortNames"):
        accepted["shortNames"] = names["shortNames"]
    if names.get("categories"):
        accepted["categories"] = names["categories"]
    document["status"]["acceptedNames"] = accepted
    _set_conditions(document["status"], conflict, now)


def _set_conditions(status: Document, conflict: tuple[str, str] | None, now: str) -> None:
    if conflict is None:
        _condition(status, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
        _condition(status, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted", now)
        return
    _condition(status, "NamesAccepted", "False", *conflict, now)
    if not is_established({"status": status}):  # once established, it stays so
        _condition(status, "Established", "False", "NotAccepted", "not all names are accepted", now)


def set_terminating(document: Document, now: str) -> None:
    """Say in the conditions that the definition is waiting for its objects to go."""
    message = "CustomResource deletion is in progress"
    _condition(document["status"], "Terminating", "True", "InstanceDeletionInProgress", message, now)


def is_established(document: Document) -> bool:
    """Whether the definition's resource is served."""
    conditions = document.get("status", {}).get("conditions", ())
    return any(one.get("type") == "Established" and one.get("status") == "True" for one in conditions)


def _condition(status: Document, kind: str, value: str, reason: str, message: str, now: str) -> None:
    conditions = [dict(one) for one in status.get("conditions", ())]
    new = {"type": kind, "status": value, "lastTransitionTime": now, "reason": reason, "message": message}
    for index, one in enumerate(conditions):
        if one["type"] == kind:
            if one["status"] == value:
                new["lastTransitionTime"] = one["lastTransitionTime"]
            conditions[index] = new
            break
    else:
        conditions.append(new)
    status["conditions"] = conditions


def served_by(document: Document, key: str, revision: int) -> Iterator[Served]:
    """The resources that an established definition makes, one for each served version."""
    if not is_established(document):
        return
    for version in _versions(document):
        if version.get("served"):
            yield _served(document, version, key, revision)


def _served(document: Document, version: dict[str, Any], key: str, revision: int) -> Served:
    spec, names = document["spec"], document["status"]["acceptedNames"]
    group = spec["group"]
    terminating = "deletionTimestamp" in document["metadata"]
    schema = version["schema"]["openAPIV3Schema"]
    gvk = GroupVersionKind(group, version["name"], names["kind"])
    return Served(
        mapping=RESTMapping(
            gvk=gvk,
            resource=GroupVersionResource(group, version["name"], names["plural"]),
            namespaced=spec["scope"] == "Namespaced",
            singular=names.get("singular", ""),
            short_names=tuple(names.get("shortNames", ())),
            categories=tuple(names.get("categories", ())),
            verbs=_TERMINATING_VERBS if terminating else _VERBS,
            subresources=tuple(name for name in ("status", "scale") if name in version.get("subresources", {})),
        ),
        compile_schema=lambda: StructuralSchema.compile(schema),
        custom=True,
        generation=True,
        unconditional_update=False,
        selectable={
            path["jsonPath"].lstrip("."): tuple(path["jsonPath"].lstrip(".").split("."))
            for path in version.get("selectableFields", ())
        },
        terminating=terminating,
        definition_key=key,
        definition_revision=revision,
        deprecation=_deprecation(version, gvk) if version.get("deprecated") else "",
    )


def _deprecation(version: dict[str, Any], gvk: GroupVersionKind) -> str:
    warning: str = version.get("deprecationWarning") or f"{gvk.api_version} {gvk.kind} is deprecated"
    return warning


def _versions(document: Document) -> list[dict[str, Any]]:
    spec = document.get("spec")
    versions = spec.get("versions") if isinstance(spec, dict) else None
    return [version for version in versions if isinstance(version, dict)] if isinstance(versions, list) else []


def _resource_names(names: Document) -> Iterator[str]:
    for key in ("plural", "singular"):
        if names.get(key):
            yield names[key]
    yield from names.get("shortNames", ())
