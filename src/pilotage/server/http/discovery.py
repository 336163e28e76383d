"""Discovery: which groups, versions and resources there are, as the documents that clients read."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersion
from pilotage.meta.mapper import RESTMapping
from pilotage.meta.versions import version_priority

_SUBRESOURCE_VERBS = ["get", "patch", "update"]


def versions() -> Document:
    """`/api`: the versions of the core group."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def groups(mappings: Iterable[RESTMapping]) -> Document:
    """`/apis`: every group but the core one."""
    by_group: dict[str, set[str]] = {}
    for mapping in mappings:
        group, version, _ = mapping.resource
        if group:
            by_group.setdefault(group, set()).add(version)
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [_group(name, by_group[name]) for name in by_group],
    }


def group(mappings: Iterable[RESTMapping], name: str) -> Document | None:
    """`/apis/{group}`; None where there is no such group."""
    found = {mapping.resource.version for mapping in mappings if mapping.resource.group == name}
    return {"kind": "APIGroup", "apiVersion": "v1"} | _group(name, found) if found else None


def _group(name: str, found: set[str]) -> Document:
    ordered = sorted(found, key=version_priority)
    entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in ordered]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def resources(mappings: Sequence[RESTMapping], group_version: GroupVersion) -> Document | None:
    """`/apis/{group}/{version}`; None where nothing is served there."""
    found = [mapping for mapping in mappings if mapping.resource.group_version == group_version]
    if not found:
        return None
    entries = [entry for mapping in found for entry in _entries(mapping)]
    head = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group_version.group else {})
    return head | {"groupVersion": str(group_version), "resources": sorted(entries, key=lambda entry: entry["name"])}


def aggregated(mappings: Iterable[RESTMapping], *, core: bool) -> Document:
    """`/api` or `/apis` in one document: all that is served of the core group, or of all others."""
    groups: dict[str, dict[str, list[Document]]] = {}
    for mapping in mappings:
        group, version, _ = mapping.resource
        if (not group) == core:
            groups.setdefault(group, {}).setdefault(version, []).append(_aggregated_resource(mapping))
    items = [
        {
            "metadata": {"name": name} if name else {},
            "versions": [
                {"version": version, "resources": found[version], "freshness": "Current"}
                for version in sorted(found, key=version_priority)
            ],
        }
        for name, found in groups.items()
    ]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _aggregated_resource(mapping: RESTMapping) -> Document:
    entry, *subresources = _entries(mapping)
    kind = dict(zip(("group", "version", "kind"), mapping.gvk, strict=True))
    resource: Document = {
        "resource": entry["name"],
        "responseKind": kind,
        "scope": "Namespaced" if entry["namespaced"] else "Cluster",
        "singularResource": entry["singularName"],
        "verbs": entry["verbs"],
    }
    resource |= {key: entry[key] for key in ("shortNames", "categories") if key in entry}
    if subresources:
        resource["subresources"] = [
            {"subresource": one["name"].partition("/")[2], "responseKind": kind, "verbs": one["verbs"]}
            for one in subresources
        ]
    return resource


def _entries(mapping: RESTMapping) -> Iterable[Document]:
    entry: Document = {
        "name": mapping.resource.resource,
        "singularName": mapping.singular,
        "namespaced": mapping.namespaced,
        "kind": mapping.gvk.kind,
        "verbs": list(mapping.verbs),
    }
    if mapping.short_names:
        entry["shortNames"] = list(mapping.short_names)
    if mapping.categories:
        entry["categories"] = list(mapping.categories)
    entry["storageVersionHash"] = _hash(mapping)
    yield entry
    for subresource in mapping.subresources:
        if subresource == "status":  # the only one that is served
            yield {
                "name": f"{mapping.resource.resource}/{subresource}",
                "singularName": "",
                "namespaced": mapping.namespaced,
                "kind": mapping.gvk.kind,
                "verbs": _SUBRESOURCE_VERBS,
            }


def _hash(mapping: RESTMapping) -> str:
    group, version, kind = mapping.gvk
    return base64.b64encode(hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()[:8]).decode()
