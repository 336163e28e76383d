"""REST mapping: from a kind to the resource that serves it, and back."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import TypeVar

from pilotage.errors import NoMatch
from pilotage.meta.kinds import GroupKind, GroupVersion, GroupVersionKind, GroupVersionResource, version_priority
from pilotage.meta.values import Value

K = TypeVar("K", bound=Hashable)


class RESTMapping(Value, frozen=True):
    """A kind, the resource that serves it, its scope and its other names."""

    gvk: GroupVersionKind
    resource: GroupVersionResource
    namespaced: bool
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()


class AmbiguousMatch(NoMatch):
    """More than one resource has that name; `candidates` lists them. Name the group: `deployments.apps`."""

    def __init__(self, message: str, candidates: tuple[GroupVersionResource, ...]) -> None:
        self.candidates = candidates
        super().__init__(message)


class RESTMapper:
    """Knows what a server serves, by any name that people use for it.

    A resource is found by its plural, singular, short name or kind in any case, with its group if need be
    (`deployments.apps`, `deployments.v1.apps`), or by a GroupVersionResource in which the group or the version may be
    empty. If several versions match, the preferred one is returned.
    """

    def __init__(self, mappings: Iterable[RESTMapping] = ()) -> None:
        self._tables = _Tables(mappings)

    def replace(self, mappings: Iterable[RESTMapping]) -> None:
        """Replace all mappings, atomically: lookups in other threads see the old state or the new one."""
        self._tables = _Tables(mappings)

    def snapshot(self) -> RESTMapper:
        """A mapper that knows what this one knows now, and never asks a server."""
        fixed = RESTMapper()
        fixed._tables = self._tables
        return fixed

    @property
    def mappings(self) -> tuple[RESTMapping, ...]:
        """All mappings."""
        return self._tables.mappings

    def known(self, kind: GroupVersionKind) -> RESTMapping | None:
        """The resource of a kind as far as it is known now; None if it is not. Never asks a server."""
        return self._tables.by_kind.get(kind)

    def known_kind(self, resource: GroupVersionResource) -> GroupVersionKind | None:
        """The kind of a resource as far as it is known now. Never asks a server."""
        return next((mapping.gvk for mapping in self._tables.of_resource(resource)), None)

    async def lookup(self, what: GroupVersionKind | GroupVersionResource | str) -> RESTMapping:
        """As `rest_mapping` for a kind and `mapping_for` for a name; a mapper with a server runs discovery first if the
        kind or name is unknown."""
        return self.rest_mapping(what) if isinstance(what, GroupVersionKind) else self.mapping_for(what)

    async def discover(self) -> None:
        """Ask the server what it serves, if the mapper has a server."""

    def rest_mapping(self, kind: GroupVersionKind | GroupKind, *versions: str) -> RESTMapping:
        """The resource of a kind: in the first of `versions` that is served, else in the preferred one.

        A GroupVersionKind stands for its own version and no other. Raises NoMatch.
        """
        found = self._tables.of_kind(kind, versions)
        if found is None and self._discover_missing():
            found = self._tables.of_kind(kind, versions)
        if found is None:
            raise NoMatch(f'no matches for kind "{kind.kind}" in {_shown_place(kind, versions)}{self._hint()}')
        return found

    def mappings_for(self, resource: str | GroupVersionResource) -> list[RESTMapping]:
        """All mappings with this name, preferred versions first; plurals come before other names."""
        found = self._tables.of_resource(resource)
        return self._tables.of_resource(resource) if not found and self._discover_missing() else found

    def mapping_for(self, resource: str | GroupVersionResource) -> RESTMapping:
        """The mapping for a name. Raises NoMatch, and AmbiguousMatch if several groups have it.

        The core group goes before all others, as in kubectl: `events` are the events of `v1`.
        """
        found = self.mappings_for(resource)
        if not found:
            raise NoMatch(f'the server doesn\'t have a resource type "{_shown(resource)}"{self._hint()}')
        first = found[0]
        if first.resource.group and any(mapping.resource.group != first.resource.group for mapping in found):
            candidates = tuple(mapping.resource for mapping in found)
            names = ", ".join(sorted({str(candidate.group_resource) for candidate in candidates}))
            raise AmbiguousMatch(f'"{_shown(resource)}" is more than one resource: {names}; name its group', candidates)
        return first

    def kind_for(self, resource: str | GroupVersionResource) -> GroupVersionKind:
        """The kind for a name. Raises as `mapping_for`."""
        return self.mapping_for(resource).gvk

    def resource_for(self, resource: str | GroupVersionResource) -> GroupVersionResource:
        """The full name of the resource for a name. Raises as `mapping_for`."""
        return self.mapping_for(resource).resource

    def _discover_missing(self) -> bool:
        """Called when a name or kind is unknown: discover, and return whether the mappings have changed."""
        return False

    def _hint(self) -> str:
        """The end of the message about an unknown name or kind."""
        return ""


class _Tables:
    """The mappings under each of their names. Never changes. A program that looks up kinds needs no table of names."""

    def __init__(self, mappings: Iterable[RESTMapping]) -> None:
        self.mappings = tuple(mappings)

    @cached_property
    def by_kind(self) -> dict[GroupVersionKind, RESTMapping]:
        # Several resources may serve one kind (Scale, Eviction): the first one wins, as in discovery's order.
        return {mapping.gvk: mapping for mapping in reversed(self.mappings)}

    @cached_property
    def _by_group_kind(self) -> dict[GroupKind, list[RESTMapping]]:
        return _grouped((mapping.gvk.group_kind, mapping) for mapping in self.mappings)

    @cached_property
    def _by_plural(self) -> dict[str, list[RESTMapping]]:
        return _grouped((mapping.resource.resource.lower(), mapping) for mapping in self.mappings)

    @cached_property
    def _by_other_name(self) -> dict[str, list[RESTMapping]]:
        return _grouped((name, mapping) for mapping in self.mappings for name in _other_names(mapping))

    def of_kind(self, kind: GroupVersionKind | GroupKind, versions: tuple[str, ...]) -> RESTMapping | None:
        if isinstance(kind, GroupVersionKind) and not versions:
            return self.by_kind.get(kind)
        served = self._by_group_kind.get(GroupKind(kind.group, kind.kind), [])
        if not versions:
            return served[0] if served else None
        found = (mapping for version in versions for mapping in served if mapping.gvk.version == version)
        return next(found, None)

    def of_resource(self, resource: str | GroupVersionResource) -> list[RESTMapping]:
        if isinstance(resource, GroupVersionResource):
            return self._named(resource.resource, resource.group, resource.version)
        for name, version, group in _readings(resource):
            if found := self._named(name, group, version):
                return found
        return []

    def _named(self, name: str, group: str | None, version: str) -> list[RESTMapping]:
        name = name.lower()
        for names in (self._by_plural, self._by_other_name):
            found = [
                mapping
                for mapping in names.get(name, ())
                if (not version or mapping.resource.version == version)
                and (not group or mapping.resource.group == group)
            ]
            if found:
                return found
        return []


def _grouped(named: Iterable[tuple[K, RESTMapping]]) -> dict[K, list[RESTMapping]]:
    """The mappings under each name, preferred versions first."""
    result: dict[K, list[RESTMapping]] = {}
    for name, mapping in named:
        result.setdefault(name, []).append(mapping)
    for found in result.values():
        if len(found) > 1:  # few of them: most names belong to one resource
            found.sort(key=_preference)
    return result


def _other_names(mapping: RESTMapping) -> set[str]:
    names = {mapping.singular.lower(), mapping.gvk.kind.lower(), *mapping.short_names}
    return names - {mapping.resource.resource.lower(), ""}


def _readings(text: str) -> Iterable[tuple[str, str, str]]:
    """Name, version and group: `a.b.c` may be resource a, version b, group c, or resource a of the group b.c."""
    name, _, rest = text.partition(".")
    version, _, group = rest.partition(".")
    if group:
        yield name, version, group
    yield name, "", rest
    if rest and not group:
        yield name, version, ""


def _preference(mapping: RESTMapping) -> tuple[bool, str, tuple[int, int, int, str]]:
    # The core group first, as servers list it.
    return (mapping.resource.group != "", mapping.resource.group, version_priority(mapping.resource.version))


def _shown(resource: str | GroupVersionResource) -> str:
    return resource if isinstance(resource, str) else str(resource)


def _shown_place(kind: GroupVersionKind | GroupKind, versions: tuple[str, ...]) -> str:
    if versions:
        listed = ", ".join(f'"{GroupVersion(kind.group, version)}"' for version in versions)
        return f"versions [{listed}]"
    if isinstance(kind, GroupVersionKind):
        return f'version "{kind.group_version}"'
    return f'group "{kind.group}"'


def not_served(gvk: GroupVersionKind) -> NoMatch:
    """The error for a kind that the server does not have."""
    return NoMatch(
        f"the server does not serve {gvk.kind} of {gvk.api_version}: install its CustomResourceDefinition first "
        "(await cluster.install(…), or kubectl apply -f), or correct the group, version or plural"
    )
