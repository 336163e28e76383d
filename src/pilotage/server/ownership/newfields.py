"""The fields of new objects, found by their outlines."""

from __future__ import annotations

from collections.abc import Hashable

from pilotage.meta.documents import Document
from pilotage.meta.fields import compare, elements, outlines, sets, tracking
from pilotage.meta.fields.compare import FieldChanges
from pilotage.meta.fields.sets import FieldSet
from pilotage.server import records
from pilotage.server.ownership import kinds

_UNOWNED = ("apiVersion", "kind")
_MAX_OUTLINES = 64
"""How many outlines of one resource are remembered."""


def created(ownership: kinds.FieldOwnership, empty: Document, document: Document) -> kinds.CreatedFields:
    """The fields of a new object, found by its outline if one of the last few objects had the same."""
    found_outline = outlines.outline(ownership.field_type, document)
    if found_outline is not None and empty:
        found_outline = found_outline, _likeness(empty, document)
    found = ownership.created.get(found_outline)
    if found is None:
        found = kinds.CreatedFields(created_fields(ownership, empty, document))
        if found_outline is not None:
            if len(ownership.created) >= _MAX_OUTLINES:
                ownership.created.clear()
            ownership.created[found_outline] = found
            records.share_fields(found.fields)
    return found


def _likeness(empty: Document, document: Document) -> tuple[Hashable, ...]:
    """Which values of a new object are as in an empty one, where the empty one has a value: besides the outline, only
    these decide which fields have an owner."""
    found: list[Hashable] = []
    for name, value in empty.items():
        mine = document.get(name)
        found.append((mine == value, mine.__class__ is value.__class__))
        if value and mine.__class__ is dict is value.__class__:
            found.append(_likeness(value, mine))
    return tuple(found)


def created_fields(ownership: kinds.FieldOwnership, empty: Document, document: Document) -> FieldSet:
    """The fields of a new object in order, compared part by part: most fields without an owner are skipped before."""
    field_type, ignored = ownership.field_type, ownership.ignored
    written: FieldSet = {}
    for name, value in document.items():
        if name in _UNOWNED:
            continue
        element = f"f:{name}"
        if ignored and ignored.get(element) == sets.MEMBER:
            continue
        if name == "metadata":
            owned = {key: item for key, item in value.items() if key not in tracking.NEVER_OWNED_METADATA}
            if owned:
                written[element] = compare.below(field_type.child(name), owned)
        elif name in empty:
            compare.compare_field(element, field_type.child(name), empty[name], value, FieldChanges({}, written))
        else:
            written[element] = compare.appeared(field_type.child(name), value)
    return elements.ordered(sets.without(written, ignored) if ignored else written)
