"""Metadata in a write: which fields the server sets, and validation. The same for all kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.causes import invalid
from pilotage.meta.documents import Document, canonical
from pilotage.meta.validation.objectmeta import (
    MAX_CAUSES,
    managed_fields_causes,
    object_meta_causes,
    object_meta_update_causes,
)
from pilotage.server.strategies.rules import Checks, Rules
from pilotage.server.strategies.strategy import copy_field

_SERVER_OWNED = frozenset(
    ("creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"),
)
_KEPT_ON_UPDATE = ("creationTimestamp", "generation")
_KEPT_IF_ABSENT = ("uid", "deletionGracePeriodSeconds")
_SET_BY_WRITES = {"generation": 0, "managedFields": ()}
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
UNQUALIFIED = "name is neither a standard finalizer name nor is it fully qualified"
AFTER_ADMISSION = " after mutating admission happens"
DUPLICATE_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in 1.20+, "
    "and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
)


def wipe(metadata: Document) -> None:
    """Remove fields that the body of a create cannot set, in place. As in kube-apiserver, an apply can set them."""
    for key in _SERVER_OWNED.intersection(metadata):
        del metadata[key]


def reset(metadata: Document, *, now: str, uid: str) -> None:
    """Set the metadata of a new object, in place."""
    metadata["uid"] = uid
    metadata["creationTimestamp"] = now


def carry_over(metadata: Document, old: Document, *, namespaced: bool) -> None:
    """Keep fields that an update cannot change, and those that it may omit, in place."""
    for key in _KEPT_ON_UPDATE:
        copy_field(metadata, old, key)
    if "deletionTimestamp" in old:
        metadata["deletionTimestamp"] = old["deletionTimestamp"]
    for key in _KEPT_IF_ABSENT:
        if key in old:
            metadata.setdefault(key, old[key])
    if namespaced:
        metadata.setdefault("namespace", old.get("namespace", ""))
    else:
        metadata.pop("namespace", None)


def deduplicate_owners(metadata: Document, when: str = "") -> list[str]:
    """Drop duplicate owner references, in place. Returns the warnings, which include the step in which duplicates were
    found."""
    owners = metadata.get("ownerReferences")
    if not owners or len(owners) < 2:
        return []
    kept: dict[bytes, Any] = {}  # by content: a body can hold tens of thousands, too many to compare in pairs
    duplicate: set[str] = set()
    for owner in owners:
        if kept.setdefault(canonical(owner), owner) is not owner:
            duplicate.add(str(owner.get("uid")))
    metadata["ownerReferences"] = list(kept.values())
    return [DUPLICATE_OWNERS.format(when) + ", ".join(sorted(duplicate))] if duplicate else []


def create_causes(metadata: Document, rules: Rules, *, namespaced: bool) -> list[Cause]:
    """What is wrong with the metadata of a new object."""
    generate_name = rules.generate_name_checked
    found = object_meta_causes(metadata, namespaced=namespaced, name=rules.name_form, generate_name=generate_name)
    return found + _finalizer_causes(metadata, rules)


def update_causes(metadata: Document, old: Document, rules: Rules, checks: Checks, *, namespaced: bool) -> list[Cause]:
    """What is wrong with the metadata of an object's next state, each cause as often as Kubernetes finds it."""
    entries = metadata.get("managedFields") or ()
    if metadata | _SET_BY_WRITES == old | _SET_BY_WRITES and (
        entries is old.get("managedFields") or not managed_fields_causes(entries)
    ):
        return []  # it was checked when it was stored
    whole = object_meta_causes(metadata, namespaced=namespaced, name="path")
    changes = object_meta_update_causes(metadata, old, valid=not whole)
    found = whole + changes + (changes + _finalizer_causes(metadata, rules)) * checks.changes
    if checks.whole and not whole and metadata.get("name") == old.get("name"):
        # The same checks once more, except for the name, which was checked when the object was created.
        found += _finalizer_causes(metadata, rules) * checks.whole
    elif checks.whole:
        found += create_causes(metadata, rules, namespaced=namespaced) * checks.whole
    return found


def _finalizer_causes(metadata: Document, rules: Rules) -> list[Cause]:
    if rules.qualified_finalizers and "finalizers" in metadata:
        return unqualified_finalizer_causes(metadata["finalizers"])
    return []


def unqualified_finalizer_causes(finalizers: Sequence[str]) -> list[Cause]:
    """Finalizers that are not standard ones and have no domain."""
    return [
        invalid(f"metadata.finalizers[{index}]", name, UNQUALIFIED)
        for index, name in enumerate(finalizers[:MAX_CAUSES])
        if not is_qualified(name)
    ]


def is_qualified(finalizer: str) -> bool:
    """Whether a finalizer is a standard one or has a domain."""
    return "/" in finalizer or finalizer in _STANDARD_FINALIZERS
