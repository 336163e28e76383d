"""Kinds as kubectl prints them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pilotage.meta.documents import Document
    from pilotage.meta.kinds import GroupVersionKind
    from pilotage.server.stored.plain import PlainResource


UNNAMED = "<unknown>"
"""In place of a name that the server would generate."""


def kind_of(kind: GroupVersionKind | PlainResource) -> str:
    """A kind in front of a name: `deployment.apps`, `pod`."""
    return _kind(kind.group, kind.kind)


def name_with_kind(document: Document) -> str:
    """The name of an object: `deployment.apps/web`."""
    group = (document.get("apiVersion") or "").rpartition("/")[0]
    return f"{_kind(group, document.get('kind') or '')}/{document['metadata'].get('name') or UNNAMED}"


def _kind(group: str, kind: str) -> str:
    return f"{kind.lower()}.{group}" if group else kind.lower()
