"""Events: core/v1 and events.k8s.io/v1 are one stored object under two names for its fields."""

from __future__ import annotations

from typing import Any

_TO_EVENTS = {
    "message": "note",
    "involvedObject": "regarding",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_TO_CORE = {new: old for old, new in _TO_EVENTS.items()}


def converted_event(document: dict[str, Any], group: str) -> dict[str, Any]:
    """The event as `group` names its fields."""
    names = _TO_CORE if group == "" else _TO_EVENTS
    return {names.get(key, key): value for key, value in document.items()}
