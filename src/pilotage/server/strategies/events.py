"""Events: core/v1 and events.k8s.io/v1 are one stored object under two names for its fields. The rules are core's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.names import qualified_name

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
_ALWAYS_WRITTEN: Document = {
    "eventTime": None,
    "regarding": {},
    "deprecatedSource": {},
    "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": None,
}
_OLD_FIELDS = ("firstTimestamp", "lastTimestamp", "count", "source")
_IMMUTABLE = (
    "involvedObject",
    "reason",
    "message",
    *_OLD_FIELDS,
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
)


def converted_event(document: Document, group: str) -> Document:
    """The event as `group` names its fields."""
    if group:
        return {_TO_EVENTS.get(key, key): value for key, value in document.items()}
    named = {_TO_CORE.get(key, key): value for key, value in document.items() if value not in (None, {})}
    return {"involvedObject": {}} | named


def completed_event(document: Document) -> Document:
    """An event of events.k8s.io/v1 with the fields that Kubernetes writes also where they are empty.

    Clients need `eventTime`, as the schema says that it is required.
    """
    event = _ALWAYS_WRITTEN | document
    series = event.get("series")
    return event | {"series": {"count": 0, "lastObservedTime": None} | series} if isinstance(series, dict) else event


def prepare_event(document: Document, old: Document | None, now: str) -> None:
    """An event of core/v1 always has the object that it is about, if only an empty reference."""
    document.setdefault("involvedObject", {})


def core_path(path: tuple[str, ...]) -> tuple[str, ...]:
    """Where a field of events.k8s.io lies in the stored form."""
    return (_TO_CORE.get(path[0], path[0]), *path[1:])


def core_causes(document: Document, old: Document | None) -> list[Cause]:
    """What is wrong with an event of core/v1, which is lenient."""
    return list(_general(document, "reportingComponent"))


def new_causes(document: Document, old: Document | None) -> list[Cause]:
    """What is wrong with an event of events.k8s.io/v1; told in the words of core/v1, as Kubernetes does."""
    event = converted_event(document, "")
    found = list(_general(event, "reportingController"))
    if old is None:
        return found + list(_creation(event))
    return found + list(_update(event, converted_event(old, "")))


def _general(event: Document, controller_field: str) -> Iterator[Cause]:
    subject = event.get("involvedObject")
    namespace = event["metadata"].get("namespace", "")
    about = subject.get("namespace", "") if isinstance(subject, dict) else ""
    if about != namespace and not (not about and namespace == "default"):
        yield invalid("involvedObject.namespace", about, "does not match event.namespace")
    if not event.get("eventTime"):
        return
    controller = event.get("reportingComponent") or ""
    if not controller:
        yield required(controller_field)
    for message in qualified_name(controller):
        yield invalid(controller_field, controller, message)
    for field in ("reportingInstance", "action", "reason"):
        if not event.get(field):
            yield required(field)
        elif len(event[field].encode()) > 128:
            yield invalid(field, "", "can have at most 128 characters")
    if len((event.get("message") or "").encode()) > 1024:
        yield invalid("message", "", "can have at most 1024 characters")


def _creation(event: Document) -> Iterator[Cause]:
    if not event.get("eventTime"):
        yield required("eventTime")
    if event.get("type") not in ("Normal", "Warning"):
        yield invalid("type", "", f"has invalid value: {event.get('type', '')}")
    for field in _OLD_FIELDS:
        if event.get(field):
            yield invalid(field, "", "needs to be unset")


def _update(event: Document, old: Document) -> Iterator[Cause]:
    series = event.get("series")
    if isinstance(series, dict) and _present(series) != _present(old.get("series")):
        if series.get("count", 0) < 2:
            yield invalid("series.count", "", "should be at least 2")
        if not series.get("lastObservedTime"):
            yield required("series.lastObservedTime")
    for field in _IMMUTABLE:
        if (event.get(field) or None) != (old.get(field) or None):  # an empty source is none
            name = "reportingController" if field == "reportingComponent" else field
            yield invalid(name, event.get(field), "field is immutable", whole=True)


def _present(series: Any) -> Document:
    """What a series says; a field that is null says nothing."""
    return {key: value for key, value in series.items() if value is not None} if isinstance(series, dict) else {}
