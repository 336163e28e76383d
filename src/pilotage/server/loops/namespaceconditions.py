"""The conditions of a namespace that is being deleted and still has content. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pilotage.meta.documents import Document

Remaining = Mapping[str, Sequence[Sequence[str]]]
"""The finalizers of each remaining object, by resource (`configmaps.`, `widgets.example.com`)."""

_PASSED = (
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
)


def with_remaining(conditions: Sequence[Document], remaining: Remaining, now: str) -> list[Document]:
    """The conditions of a namespace in which these objects wait for their finalizers."""
    found = [_condition(kind, "False", reason, message) for kind, reason, message in _PASSED]
    resources = [f"{name} has {len(objects)} resource instances" for name, objects in sorted(remaining.items())]
    message = f"Some resources are remaining: {', '.join(resources)}"
    found.append(_condition("NamespaceContentRemaining", "True", "SomeResourcesRemain", message))
    counts = Counter(name for objects in remaining.values() for finalizers in objects for name in finalizers)
    if counts:
        held = [f"{name} in {count} resource instances" for name, count in sorted(counts.items())]
        message = f"Some content in the namespace has finalizers remaining: {', '.join(held)}"
        found.append(_condition("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain", message))
    else:
        message = "All content-preserving finalizers finished"
        found.append(_condition("NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers", message))
    before = {one["type"]: one for one in conditions}
    return [_timed(one, before.get(one["type"]), now) for one in found]


def _condition(kind: str, status: str, reason: str, message: str) -> Document:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def _timed(condition: Document, before: Document | None, now: str) -> Document:
    """The condition with the time since which it is what it is."""
    same = before is not None and all(before.get(key) == value for key, value in condition.items())
    since = (before or {}).get("lastTransitionTime") if same else now
    kind, status = condition.pop("type"), condition.pop("status")
    return {"type": kind, "status": status, "lastTransitionTime": since} | condition
