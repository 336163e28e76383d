"""Discovery documents to REST mappings. No I/O."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import msgspec

from pilotage.errors import DecodeError
from pilotage.meta.kinds import GroupVersion, GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.redaction import reason_of
from pilotage.rest.answers import unexpected
from pilotage.rest.negotiation import AGGREGATED_DISCOVERY

T = TypeVar("T", bound="_Groups | _Versions | _Version")

ACCEPT = f"{AGGREGATED_DISCOVERY},application/json"
"""Aggregated discovery; servers before 1.26, and small ones, answer with the old form."""


class _Part(msgspec.Struct, rename="camel"):
    """Names that occur in several documents; what is not there is empty."""

    group: str = ""
    version: str = ""
    kind: str = ""
    name: str = ""
    subresource: str = ""
    group_version: str = ""


class _Resource(msgspec.Struct, rename="camel"):
    """A resource, by the names of both forms: `resource` in the new, `name` in the old."""

    resource: str = ""
    name: str = ""
    response_kind: _Part | None = None
    group: str = ""
    version: str = ""
    kind: str = ""
    scope: str = ""
    namespaced: bool = False
    singular_resource: str = ""
    singular_name: str = ""
    verbs: list[str] | None = None
    short_names: list[str] | None = None
    categories: list[str] | None = None
    subresources: list[_Part] | None = None


class _Version(msgspec.Struct, rename="camel"):
    """A version of a group, or (with a `kind`) an APIResourceList."""

    kind: str = ""
    version: str = ""
    group_version: str = ""
    resources: list[_Resource] | None = None


class _Group(msgspec.Struct, rename="camel"):
    metadata: _Part = msgspec.field(default_factory=_Part)
    name: str = ""
    versions: list[_Version] | None = None
    preferred_version: _Part = msgspec.field(default_factory=_Part)


class _Groups(msgspec.Struct, rename="camel"):
    """An APIGroupDiscoveryList (`items`) or an APIGroupList (`groups`)."""

    kind: str = ""
    items: list[_Group] | None = None
    groups: list[_Group] | None = None


class _Versions(msgspec.Struct):
    """An APIVersions document."""

    kind: str = ""
    versions: list[str] | None = None


def aggregated(body: bytes) -> Iterator[RESTMapping]:
    """The mappings in an APIGroupDiscoveryList."""
    for group in _read(body, _Groups, "APIGroupDiscoveryList").items or []:
        for version in group.versions or []:
            for resource in version.resources or []:
                kind = resource.response_kind
                if kind is None or not kind.kind:
                    continue  # only its subresources are served
                served = GroupVersion(group.metadata.name, version.version)
                subresources = [part.subresource for part in resource.subresources or []]
                yield _mapping(served, resource, kind, subresources)


def core_versions(body: bytes) -> list[GroupVersion]:
    """The versions of the core group in an APIVersions document."""
    return [GroupVersion("", version) for version in _read(body, _Versions, "APIVersions").versions or []]


def group_versions(body: bytes) -> list[GroupVersion]:
    """The groups and versions in an APIGroupList; the preferred version of a group comes first."""
    found = []
    for group in _read(body, _Groups, "APIGroupList").groups or []:
        names = [version.version for version in group.versions or []]
        names.sort(key=lambda name: name != group.preferred_version.version)
        found += [GroupVersion(group.name, name) for name in names]
    return found


def resource_list(served: GroupVersion, body: bytes) -> Iterator[RESTMapping]:
    """The mappings in an APIResourceList, where subresources are listed among the resources as `pods/status`."""
    resources = _read(body, _Version, "APIResourceList").resources or []
    for resource in resources:
        if "/" in resource.name or not resource.kind:
            continue
        prefix = f"{resource.name}/"
        subresources = [other.name.removeprefix(prefix) for other in resources if other.name.startswith(prefix)]
        kind = _Part(resource.group, resource.version, resource.kind)
        yield _mapping(served, resource, kind, subresources)


def _mapping(served: GroupVersion, resource: _Resource, kind: _Part, subresources: list[str]) -> RESTMapping:
    # An empty group and version mean those under which the resource is served.
    group, version = (kind.group, kind.version) if kind.version else served
    return RESTMapping(
        gvk=GroupVersionKind(group, version, kind.kind),
        resource=GroupVersionResource(*served, resource.resource or resource.name),
        namespaced=resource.namespaced or resource.scope == "Namespaced",
        singular=resource.singular_resource or resource.singular_name,
        short_names=tuple(resource.short_names or ()),
        categories=tuple(resource.categories or ()),
        verbs=tuple(resource.verbs or ()),
        subresources=tuple(subresources),
    )


def _read(body: bytes, form: type[T], kind: str) -> T:
    """A document, its kind checked: one of another kind would look empty, as if no kind were served."""
    try:
        found = msgspec.json.decode(body, type=form)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DecodeError(f"the server's discovery document cannot be read: {reason_of(error)}") from error
    if found.kind not in ("", kind):
        raise unexpected(f"discovery ({kind})", found.kind)
    return found
