"""The flow schemas and priority levels that every server needs: their spec cannot be changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.causes import invalid
from pilotage.meta.documents import Document

_EVERYTHING = {
    "resourceRules": [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    ],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}


def _groups(*names: str) -> list[Document]:
    return [{"kind": "Group", "group": {"name": f"system:{name}"}} for name in names]


_SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "exempt": {
        "priorityLevelConfiguration": {"name": "exempt"},
        "matchingPrecedence": 1,
        "rules": [{"subjects": _groups("masters")} | _EVERYTHING],
    },
    "catch-all": {
        "priorityLevelConfiguration": {"name": "catch-all"},
        "matchingPrecedence": 10000,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [{"subjects": _groups("unauthenticated", "authenticated")} | _EVERYTHING],
    },
}
_CATCH_ALL_LEVEL = {
    "type": "Limited",
    "limited": {"nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"}},
}


def schema_causes(name: str, spec: Document) -> Iterator[Cause]:
    """What is wrong with the spec of a flow schema of this name."""
    if name in _SCHEMAS and spec != _SCHEMAS[name]:
        yield _fixed(name, spec)


def level_causes(name: str, spec: Document) -> Iterator[Cause]:
    """What is wrong with the spec of a priority level of this name."""
    if name == "exempt" and {key: value for key, value in spec.items() if key != "exempt"} != {"type": "Exempt"}:
        yield _fixed(name, spec, " except the 'spec.exempt' field")
    if name == "catch-all" and spec != _CATCH_ALL_LEVEL:
        yield _fixed(name, spec)


def _fixed(name: str, spec: Document, but_for: str = "") -> Cause:
    return invalid("spec", spec, f"spec of '{name}'{but_for} must equal the fixed value")
