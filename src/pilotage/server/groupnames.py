"""The names that the definitions of each group have, so that a new one is compared without reading the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pilotage.meta.documents import Document


class GroupNames:
    """The accepted names of the definitions of one group, as they were at a revision."""

    def __init__(self, revision: int) -> None:
        self.revision = revision
        self.settled: set[str] = set()
        """The definitions that have all names that they want."""
        self._accepted: dict[str, Document] = {}
        self._resources: dict[str, str] = {}
        self._kinds: dict[str, str] = {}

    def add(self, definition: Document, *, settled: bool) -> None:
        """Note the names of a definition, in place of those that it had."""
        name = definition["metadata"]["name"]
        self._release(name)
        accepted = self._accepted[name] = _accepted(definition)
        for resource in _resource_names(accepted):
            self._resources.setdefault(resource, name)
        for kind in _kind_names(accepted):
            self._kinds.setdefault(kind, name)
        if settled:
            self.settled.add(name)

    def _release(self, name: str) -> None:
        before = self._accepted.pop(name, {})
        self.settled.discard(name)
        for owners, names in ((self._resources, _resource_names(before)), (self._kinds, _kind_names(before))):
            for each in names:
                if owners.get(each) == name:
                    del owners[each]

    def knows(self, definition: Document) -> bool:
        """Whether the names of a definition are those that were noted."""
        return self._accepted.get(definition["metadata"]["name"]) == _accepted(definition)

    def taken_resources(self, names: Iterable[str], definition: str) -> set[str]:
        """Those of the names of a resource that another definition has."""
        return {name for name in names if self._resources.get(name, definition) != definition}

    def taken_kinds(self, names: Iterable[str], definition: str) -> set[str]:
        """Those of the names of a kind that another definition has."""
        return {name for name in names if self._kinds.get(name, definition) != definition}


class DefinitionNameIndex:
    """The names in all groups; empty until they are first needed."""

    def __init__(self) -> None:
        self.revision = 0
        """The revision at which all groups were read; 0: they were not."""
        self._groups: dict[str, GroupNames] = {}

    def group(self, name: str) -> GroupNames:
        """The names in a group; none were accepted in one that nothing is known of."""
        found = self._groups.get(name)
        if found is None:
            found = self._groups[name] = GroupNames(self.revision)
        return found

    def restart(self, name: str, revision: int) -> GroupNames:
        """An empty group in place of what was known of it."""
        found = self._groups[name] = GroupNames(revision)
        return found


def _accepted(definition: Document) -> Document:
    return (definition.get("status") or {}).get("acceptedNames") or {}


def _resource_names(names: Document) -> Iterator[str]:
    for key in ("plural", "singular"):
        if names.get(key):
            yield names[key]
    yield from names.get("shortNames") or ()


def _kind_names(names: Document) -> Iterator[str]:
    for key in ("kind", "listKind"):
        if names.get(key):
            yield names[key]
