"""Kinds as kubectl prints them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pilotage.meta.kinds import GroupVersionKind
    from pilotage.server.plain import PlainResource


def kind_of(kind: GroupVersionKind | PlainResource) -> str:
    """A kind in front of a name: `deployment.apps`, `pod`."""
    name = kind.kind.lower()
    return f"{name}.{kind.group}" if kind.group else name
