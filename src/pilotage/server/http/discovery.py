"""Discovery: which groups, versions and resources there are, as the documents that clients read."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersion, GroupVersionKind, GroupVersionResource, version_priority
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.server.strategies.scaling import SCALE
from pilotage.types import builtin
from pilotage.types.builtin import Subresource

_CUSTOM_VERBS = ("get", "patch", "update")
StoredKinds = Mapping[GroupVersionResource, GroupVersionKind]
"""The kind and version in which the objects of a resource are stored."""

_STORED = {
    GroupVersionKind.of(api_version, kind): GroupVersionKind.of(stored, kind)
    for api_version, kind, stored in (
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", "admissionregistration.k8s.io/v1beta1"),
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding", "admissionregistration.k8s.io/v1beta1"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "apiextensions.k8s.io/v1beta1"),
        ("autoscaling/v1", "HorizontalPodAutoscaler", "autoscaling/v2"),
        ("events.k8s.io/v1", "Event", "v1"),
    )
}
"""Where a kube-apiserver stores another version than the one that it serves: clients see it in a hash."""


def versions(address: str) -> Document:
    """`/api`: the versions of the core group, and the address of the server."""
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}] if address else []
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


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
    """`/apis/{group}`; None if there is no such group."""
    found = {mapping.resource.version for mapping in mappings if mapping.resource.group == name}
    return {"kind": "APIGroup", "apiVersion": "v1"} | _group(name, found) if found else None


def _group(name: str, found: set[str]) -> Document:
    ordered = sorted(found, key=version_priority)
    entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in ordered]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def resources(
    mappings: Sequence[RESTMapping], group_version: GroupVersion, stored: StoredKinds | None = None
) -> Document | None:
    """`/apis/{group}/{version}`; None if nothing is served there."""
    found = [mapping for mapping in mappings if mapping.resource.group_version == group_version]
    if not found:
        return None
    entries = [entry for mapping in found for entry in _entries(mapping, stored or {})]
    head = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group_version.group else {})
    return head | {"groupVersion": str(group_version), "resources": entries}


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
    resource: Document = {
        "resource": mapping.resource.resource,
        "responseKind": _response_kind(mapping, mapping.gvk),
        "scope": "Namespaced" if mapping.namespaced else "Cluster",
        "singularResource": mapping.singular,
        "verbs": list(mapping.verbs),
    }
    resource |= _names(mapping)
    subresources = [
        {
            "subresource": each.name,
            "responseKind": _response_kind(mapping, each.gvk),
            "verbs": list(each.verbs),
        }
        for each in _subresources(mapping)
    ]
    return resource | ({"subresources": subresources} if subresources else {})


def _response_kind(mapping: RESTMapping, gvk: GroupVersionKind) -> Document:
    """The kind; a built-in one of the resource's own group and version is written without these."""
    group, version, kind = gvk
    if builtin.definition_name(mapping.gvk) is not None and gvk.group_version == mapping.gvk.group_version:
        group = version = ""
    return {"group": group, "version": version, "kind": kind}


def _entries(mapping: RESTMapping, stored: StoredKinds) -> Iterator[Document]:
    entry: Document = {
        "name": mapping.resource.resource,
        "singularName": mapping.singular,
        "namespaced": mapping.namespaced,
        "kind": mapping.gvk.kind,
        "verbs": list(mapping.verbs),
    }
    if "watch" in mapping.verbs:
        yield (
            entry
            | _names(mapping)
            | {"storageVersionHash": _hash(stored.get(mapping.resource) or _stored(mapping.gvk))}
        )
    else:
        yield entry | _names(mapping)
    for each in _subresources(mapping):
        other: Document = {}
        if each.gvk.group_version != mapping.gvk.group_version:
            other = {"group": each.gvk.group, "version": each.gvk.version}
        yield {
            "name": f"{mapping.resource.resource}/{each.name}",
            "singularName": "",
            "namespaced": mapping.namespaced,
            **other,
            "kind": each.gvk.kind,
            "verbs": list(each.verbs),
        }


def _names(mapping: RESTMapping) -> Document:
    names: Document = {}
    if mapping.short_names:
        names["shortNames"] = list(mapping.short_names)
    if mapping.categories:
        names["categories"] = list(mapping.categories)
    return names


def _subresources(mapping: RESTMapping) -> Sequence[Subresource]:
    if builtin.definition_name(mapping.gvk) is not None:
        return builtin.subresources(mapping.resource)
    kinds = {"status": mapping.gvk, "scale": SCALE}
    return [Subresource(name, kinds[name], _CUSTOM_VERBS) for name in mapping.subresources]


def _stored(gvk: GroupVersionKind) -> GroupVersionKind:
    return _STORED.get(gvk, gvk)


def _hash(gvk: GroupVersionKind) -> str:
    """A hash of the kind and version in which objects are stored: clients compare it, and nothing more."""
    group, version, kind = gvk
    return base64.b64encode(hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()[:8]).decode()
