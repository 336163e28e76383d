"""The difference between a found object and a desired one, as a patch. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from pilotage.client.patch import Patch, own_document, raw_patch
from pilotage.codec.canonical import canonical_form
from pilotage.errors import DecodeError
from pilotage.meta import objects
from pilotage.meta.differences.difference import unknown_parts
from pilotage.meta.documents import Document, equal, same
from pilotage.meta.forms import Object, gvk_of
from pilotage.meta.models import Resource
from pilotage.meta.patches import merge, merge_diff, strategic, strategic_diff
from pilotage.meta.unstructured import Unstructured
from pilotage.rest import PatchType
from pilotage.types import builtin

STATED: ContextVar[Callable[[Object], None] | None] = ContextVar("pilotage stated", default=None)
"""Is called with each object that `create_or_patch` is asked for, before it is compared with the one on the server:
what a program wants is known then, also where nothing is sent."""
_SETTABLE_METADATA = ("labels", "annotations", "finalizers")


@dataclass(frozen=True, slots=True)
class Difference:
    """What to send. For a kind without a status subresource, `status` is part of `document`."""

    type: PatchType
    document: Document
    status: Document

    def patch(self, lock: str = "") -> Patch:
        """The patch of the object; with `lock`, it applies only if the object is still at that version."""
        if not lock:
            return raw_patch(self.type, self.document)
        metadata = self.document.get("metadata", {}) | {"resourceVersion": lock}
        return raw_patch(self.type, self.document | {"metadata": metadata})

    def status_patch(self) -> Patch:
        return raw_patch(self.type, {"status": self.status})

    @property
    def replaces_lists(self) -> bool:
        """Whether it replaces whole lists, including entries that other writers may have added since the list was
        read."""
        return self.type is PatchType.MERGE and _has_list(self.document)


def desired_state(before: Document, desired: Object) -> Document:
    """A found object with the fields of the desired one, except for its owners."""
    wanted = settable(own_document(desired))
    model = strategy_of(desired)
    finalizers = wanted.get("metadata", {}).pop("finalizers", [])
    after = merge.apply(before, wanted) if model is None else strategic.apply(before, wanted, model)
    if finalizers:  # other writers have entries in this list
        there = before["metadata"].get("finalizers") or []
        kept = [entry for entry in there if entry not in finalizers]
        after["metadata"] = after["metadata"] | {"finalizers": [*kept, *finalizers]}
    return after


def difference(kind: Object, before: Document, after: Document, *, status_apart: bool) -> Difference:
    """The difference between the found and the desired state of an object; empty if they are equivalent."""
    model = strategy_of(kind)
    if is_equivalent(kind, before, after):
        after = before
    states: tuple[Document, Document] = ({}, {})
    if status_apart:
        states = before.get("status", {}), after.get("status", {})
        before, after = _without_status(before), _without_status(after)
    if model is None:
        return Difference(PatchType.MERGE, merge_diff(before, after), merge_diff(*states))
    status = strategic_diff({"status": states[0]}, {"status": states[1]}, model).get("status", {})
    return Difference(PatchType.STRATEGIC, strategic_diff(before, after, model), status)


def settable(wanted: Document) -> Document:
    """The fields of a desired object, without those that only the server sets."""
    metadata = wanted.get("metadata") or {}
    kept = {name: metadata[name] for name in _SETTABLE_METADATA if metadata.get(name)}
    content = {key: value for key, value in wanted.items() if key not in ("apiVersion", "kind", "metadata")}
    return content | ({"metadata": kept} if kept else {})


def strategy_of(obj: Object) -> type[Resource] | None:
    """The class by which an object's lists are merged; None where only merge patches are understood."""
    if isinstance(obj, Resource):
        return type(obj) if obj.__resource__.builtin else None
    return builtin.type_for(gvk_of(obj))


def is_equivalent(obj: Object, before: Document, after: Document) -> bool:
    """Whether a server would store two documents as the same object: `1000m` is `1`, an empty map is none, and the
    default of a built-in kind is the same as an absent field."""
    if same(before, after):
        return True
    model = strategy_of(obj)
    if model is None:
        return isinstance(obj, Resource) and _same_to(type(obj), before, after)
    old, new = (canonical_form(gvk_of(obj), each) for each in (before, after))
    if old is None or new is None:
        return False
    return equal(old, new) or _same_to(model, old, new)


def _same_to(kind: type[Resource], before: Document, after: Document) -> bool:
    """Whether only the spelling of fields differs that the class knows."""
    try:
        one, other = (objects.decode(kind, objects.encode(Unstructured(each))) for each in (before, after))
    except DecodeError:
        return False  # the server reports the error
    if one != other:
        return False
    unknown = (
        unknown_parts(document, objects.read(objects.encode(obj)), kind)
        for document, obj in ((before, one), (after, other))
    )
    return same(*unknown)


def _without_status(document: Document) -> Document:
    return {key: value for key, value in document.items() if key != "status"}


def _has_list(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_list, value.values()))
    return isinstance(value, list)
