"""REST mapping: from a kind to the resource that serves it, and back."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource


@dataclass(frozen=True, slots=True)
class RESTMapping:
    """A kind, the resource that serves it, its scope and its other names."""

    gvk: GroupVersionKind
    resource: GroupVersionResource
    namespaced: bool
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
