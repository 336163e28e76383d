"""What a stored definition says about its resource. Light to import: a read of one kind needs nothing else."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.mapper import RESTMapping

DEFINITIONS = "apiextensions.k8s.io/customresourcedefinitions/"
"""The prefix of the keys of definitions, below the tenant's."""
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_TERMINATING_VERBS = ("delete", "deletecollection", "get", "list", "watch")


def is_established(definition: Document) -> bool:
    """Whether the definition's resource is served."""
    status = definition.get("status")
    conditions = (status.get("conditions") if isinstance(status, dict) else None) or ()
    return any(one.get("type") == "Established" and one.get("status") == "True" for one in conditions)


def mapping_of(definition: Document, version: Document) -> RESTMapping:
    """The resource of one version of a definition whose names are accepted."""
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    group = spec["group"]
    return RESTMapping(
        gvk=GroupVersionKind(group, version["name"], names["kind"]),
        resource=GroupVersionResource(group, version["name"], names["plural"]),
        namespaced=spec["scope"] == "Namespaced",
        singular=names.get("singular", ""),
        short_names=tuple(names.get("shortNames", ())),
        categories=tuple(names.get("categories", ())),
        verbs=_TERMINATING_VERBS if "deletionTimestamp" in definition["metadata"] else _VERBS,
        subresources=tuple(name for name in ("status", "scale") if name in version.get("subresources", {})),
    )
