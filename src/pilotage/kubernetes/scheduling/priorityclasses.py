"""PriorityClasses."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import forbidden
from pilotage.meta.documents import Document
from pilotage.server.strategies.checks import fields
from pilotage.server.strategies.strategy import Strategy

_POLICIES = ("PreemptLowerPriority", "Never")
_HIGHEST = 1_000_000_000
"""Priorities above this are the system's."""
_PREFIX = "system-"
_SYSTEM = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


class PriorityClassStrategy(Strategy):
    """Priority classes keep their value and their policy."""

    def validate(self, document: Document) -> Iterator[Cause]:
        yield from _validate_value(document)
        policy = document.get("preemptionPolicy")
        yield from fields.given(policy, "preemptionPolicy", fields.required_choice, _POLICIES)

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        if document.get("value", 0) != old.get("value", 0):
            yield forbidden("value", "may not be changed in an update.")
        yield from fields.immutable(document.get("preemptionPolicy"), old.get("preemptionPolicy"), "preemptionPolicy")

    def _is_new_generation(self, document: Document, old: Document) -> bool:
        return False  # it is set, and never counted


def _validate_value(document: Document) -> Iterator[Cause]:
    name, value = document["metadata"].get("name", ""), document.get("value", 0)
    if not name.startswith(_PREFIX):
        if value > _HIGHEST:
            yield forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST}")
        return
    problem = ""
    if name not in _SYSTEM:
        problem = f"{name} is not a known system priority class"
    elif value != _SYSTEM[name]:
        problem = f"value of {name} PriorityClass must be {_SYSTEM[name]}"
    elif document.get("globalDefault"):
        problem = f"globalDefault of {name} PriorityClass must be false"
    if problem:
        message = f"priority class names with '{_PREFIX}' prefix are reserved for system use only. error: {problem}"
        yield forbidden("metadata.name", message)
