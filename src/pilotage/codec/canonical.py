"""The canonical form of an object of a built-in kind: how it is stored, apart from admission and disabled features."""

from __future__ import annotations

from pilotage.codec.defaults.table import default_of
from pilotage.codec.scalars import Mismatch
from pilotage.codec.structure import structure
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.types import builtin


def canonical_form(gvk: GroupVersionKind, document: Document) -> Document | None:
    """The document decoded, defaulted and encoded, as a new one: what a server stores.

    None where that is not known: for custom kinds, for fields of a newer release, for values of wrong types.
    """
    name = builtin.definition_name(gvk)
    if name is None:
        return None
    unknown: list[None] = []
    try:
        form = structure(name).decode(document, unknown)
    except Mismatch:
        return None
    if unknown:
        return None
    if (default := default_of(gvk)) is not None:
        default(form)
    structure(name).encode(form)
    return form
