"""CustomResourceDefinitions: what the server fills in, when their names are accepted, and what they make served."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.mapper import RESTMapping
from pilotage.meta.versions import version_priority
from pilotage.schema import definition as rules
from pilotage.schema.structural import StructuralSchema
from pilotage.server.resources import ResourceInfo

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_TERMINATING_VERBS = ("delete", "deletecollection", "get", "list", "watch")


def prepare(document: Document, old: Document | None, now: str) -> None:
    """Defaults, and the versions in which objects may be stored."""
    rules.apply_definition_defaults(document)
    storage = next((version["name"] for version in _versions(document) if version.get("storage") is True), None)
    status = document["status"] = dict(old.get("status", {})) if old is not None else {}
    stored = list(status.get("storedVersions", []))
    if storage is not None and storage not in stored:
        stored.append(storage)
    status["storedVersions"] = stored


def causes(document: Document, old: Document | None) -> list[Cause]:
    """Everything that is wrong with a definition."""
    found = rules.definition_causes(document)
    if old is None:
        return found
    # The name cannot change, so what does not fit it any more is the part that has changed, which is said anyhow.
    found = [cause for cause in found if cause.field != "metadata.name"]
    return found + rules.definition_update_causes(document, old)


def accept_names(document: Document, others: Iterable[Document], now: str) -> None:
    """Set acceptedNames and the conditions, in place, by what the other definitions of the group have taken.

    What was accepted before stays accepted; of several conflicts the last one is told, as Kubernetes does.
    """
    names, status = document["spec"]["names"], document["status"]
    rivals = [other["status"].get("acceptedNames", {}) for other in others if _rivals(document, other)]
    resources = {name for rival in rivals for name in _resource_names(rival)}
    kinds = {rival.get(key) for rival in rivals for key in ("kind", "listKind")}
    accepted = dict(status.get("acceptedNames", {}))
    conflict: tuple[str, str] | None = None
    for key, reason, taken in (
        ("plural", "PluralConflict", resources),
        ("singular", "SingularConflict", resources),
        ("shortNames", "ShortNamesConflict", resources),
        ("kind", "KindConflict", kinds),
        ("listKind", "ListKindConflict", kinds),
    ):
        wanted = names.get(key, [] if key == "shortNames" else "")
        problems = _in_use(wanted, accepted.get(key, ()), taken)
        if problems:
            conflict = (reason, problems)
        else:
            accepted[key] = wanted
    accepted["categories"] = names.get("categories", [])
    needed = {"plural": "", "kind": ""}
    status["acceptedNames"] = needed | {key: value for key, value in accepted.items() if value}
    _set_conditions(status, conflict, now)


def _rivals(one: Document, other: Document) -> bool:
    return bool(one["spec"]["group"] == other["spec"]["group"] and one["metadata"]["name"] != other["metadata"]["name"])


def _in_use(wanted: str | list[str], mine: Any, taken: set[Any]) -> str:
    """What is wrong with the names: somebody else has them, and they were not accepted before."""
    names, before = ([wanted], [mine]) if isinstance(wanted, str) else (wanted, mine)
    found = [f'"{name}" is already in use' for name in names if name in taken and name not in before]
    return found[0] if len(found) == 1 else f"[{', '.join(found)}]" if found else ""


def _set_conditions(status: Document, conflict: tuple[str, str] | None, now: str) -> None:
    if conflict is None:
        _condition(status, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
        _condition(status, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted", now)
        return
    _condition(status, "NamesAccepted", "False", *conflict, now)
    if not is_established({"status": status}):  # once established, it stays so
        _condition(status, "Established", "False", "NotAccepted", "not all names are accepted", now)


def mark(document: Document, now: str) -> None:
    """A definition that is deleted waits, by a finalizer of its own, until its objects are gone."""
    message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    document["status"] = dict(document["status"])
    _condition(document["status"], "Terminating", "True", "InstanceDeletionPending", message, now)
    finalizers = document["metadata"].get("finalizers", [])
    document["metadata"]["finalizers"] = [*(name for name in finalizers if name != CLEANUP), CLEANUP]


def set_terminating(document: Document, now: str) -> None:
    """Say in the conditions that the objects of a definition are being deleted."""
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


def resources_of(document: Document, key: str, revision: int, size: int = 0) -> Iterator[ResourceInfo]:
    """The resources that an established definition of so many bytes makes, one for each served version."""
    if not is_established(document):
        return
    versions: dict[str, ResourceInfo] = {}
    storage: ResourceInfo | None = None
    for version in sorted(_versions(document), key=lambda version: not version.get("storage")):
        info = _resource_info(document, version, key, revision)
        info = replace(info, storage=storage, versions=versions, definition_bytes=size)
        storage = storage or info  # the storage version comes first: the others refer to it
        versions[info.gvk.api_version] = info
    for version in _versions(document):
        if version.get("served"):
            yield versions[f"{document['spec']['group']}/{version['name']}"]


def _resource_info(document: Document, version: dict[str, Any], key: str, revision: int) -> ResourceInfo:
    spec, names = document["spec"], document["status"]["acceptedNames"]
    group = spec["group"]
    terminating = "deletionTimestamp" in document["metadata"]
    schema = version["schema"]["openAPIV3Schema"]
    gvk = GroupVersionKind(group, version["name"], names["kind"])
    return ResourceInfo(
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
        deprecation=_deprecation(version, gvk, spec["versions"]) if version.get("deprecated") else "",
    )


def _deprecation(version: dict[str, Any], gvk: GroupVersionKind, versions: Iterable[dict[str, Any]]) -> str:
    """The warning about a version: the definition's own, or one that names the best version to use instead."""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    ranks = [version_priority(one["name"]) for one in versions if one.get("served") and not one.get("deprecated")]
    better = sorted(rank for rank in ranks if rank < version_priority(gvk.version))
    instead = f"; use {gvk.group}/{better[0][-1]} {gvk.kind}" if better else ""
    return f"{gvk.api_version} {gvk.kind} is deprecated{instead}"


def _versions(document: Document) -> list[dict[str, Any]]:
    spec = document.get("spec")
    versions = spec.get("versions") if isinstance(spec, dict) else None
    return [version for version in versions if isinstance(version, dict)] if isinstance(versions, list) else []


def _resource_names(names: Document) -> Iterator[str]:
    for key in ("plural", "singular"):
        if names.get(key):
            yield names[key]
    yield from names.get("shortNames", ())
