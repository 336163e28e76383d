"""How long ago something was, and the rows of events."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pilotage.meta.documents import Document
from pilotage.meta.scalars import times

UNKNOWN = "<unknown>"
_NEVER = "-"


def age(since: datetime | None, now: datetime) -> str:
    """The time since `since`, rounded as kubectl does."""
    if since is None:
        return _NEVER
    return times.rounded(max(0.0, (now - since).total_seconds()))


def since(text: Any, now: datetime) -> str:
    """The time since a time of the API: `5m`."""
    return age(moment(text), now) if text else UNKNOWN


def moment(text: Any) -> datetime:
    return datetime.fromisoformat(str(text)).astimezone(UTC)


def interval(event: Document, now: datetime) -> str:
    """When an event happened, and how often: `5m`, `2s (x3 over 5m)`."""
    first = since(event.get("eventTime") or event.get("firstTimestamp"), now)
    series = event.get("series")
    if series:
        return f"{since(series.get('lastObservedTime'), now)} (x{series.get('count')} over {first})"
    if (event.get("count") or 0) > 1:
        return f"{since(event.get('lastTimestamp'), now)} (x{event['count']} over {first})"
    return first


def last_seen(event: Document) -> str:
    """A text to sort events by."""
    series = event.get("series") or {}
    found = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return str(found or (event.get("metadata") or {}).get("creationTimestamp") or "")
