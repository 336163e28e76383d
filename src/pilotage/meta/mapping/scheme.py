"""The scheme: maps kinds to Python types."""

from __future__ import annotations

from collections.abc import Callable

from pilotage.errors import InvalidDefinition
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import Resource

Fallback = Callable[[GroupVersionKind], type[Resource] | None]
"""Finds the type of a kind that was not added: so the built-in types are loaded only when they are used."""


class Scheme:
    """Types by kind, one for each. A type that was not added still knows its own kind."""

    def __init__(self, fallback: Fallback | None = None) -> None:
        self._types: dict[GroupVersionKind, type[Resource]] = {}
        self._fallback = fallback

    def add_known_types(self, *types: type[Resource]) -> None:
        """Add types. All or none: InvalidDefinition if a kind has another type already, here or among `types`."""
        added: dict[GroupVersionKind, type[Resource]] = {}
        for new in types:
            gvk = self.gvk_for(new)
            known = added.get(gvk) or self._types.get(gvk)
            if known is not None and known is not new:
                raise InvalidDefinition(
                    f"{gvk} has two types, {_name(known)} and {_name(new)}; "
                    "keep one of them, or use a second scheme for the other"
                )
            added[gvk] = new
        self._types.update(added)

    def type_for(self, gvk: GroupVersionKind) -> type[Resource] | None:
        """The type of a kind; None if there is none, and its objects are Unstructured."""
        known = self._types.get(gvk)
        if known is None and self._fallback is not None:
            return self._fallback(gvk)
        return known

    def gvk_for(self, type_: type[Resource]) -> GroupVersionKind:
        """The kind of a type, as `@resource` has named it."""
        info = getattr(type_, "__resource__", None)
        if info is None:
            raise InvalidDefinition(f"{_name(type_)} has no kind; put @resource(group=…, version=…) above the class")
        gvk: GroupVersionKind = info.gvk
        return gvk

    def recognizes(self, gvk: GroupVersionKind) -> bool:
        """Whether there is a type for this kind."""
        return self.type_for(gvk) is not None


def _name(type_: type) -> str:
    return f"{type_.__module__}.{type_.__qualname__}"
