"""Events: core/v1 and events.k8s.io/v1 are one stored object under two names for its fields. The rules are core's."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import qualified_name
from pilotage.server.strategies.checks import fields
from pilotage.server.strategies.strategy import Strategy

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
_OLD_FIELDS = ("firstTimestamp", "lastTimestamp", "count", "source")
LIFETIME = 3600
"""Seconds that an event is kept after it was last seen, as kube-apiserver does (--event-ttl)."""
_ZEROS = {"count": 0, "firstTimestamp": None, "lastTimestamp": None, "eventTime": None}
"""How a field that an update removes is shown; texts are empty."""
_IMMUTABLE = (
    "involvedObject",
    "reason",
    "message",
    *_OLD_FIELDS,
    "reason",  # twice, as Kubernetes does
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
    "reportingInstance",
)


def to_events(document: Document) -> Document:
    """A stored event with the field names of events.k8s.io."""
    return {_TO_EVENTS.get(key, key): value for key, value in document.items()}


def to_core(document: Document) -> Document:
    """An event of events.k8s.io with the field names of core/v1."""
    return {_TO_CORE.get(key, key): value for key, value in document.items()}


class CoreEventStrategy(Strategy):
    """Events of core/v1: lenient, and the form in which all are stored."""

    def validate(self, document: Document) -> Iterator[Cause]:
        return _general(document, "reportingComponent")

    def convert(self, document: Document) -> Document:
        return to_core(document)


class EventStrategy(Strategy):
    """Events of events.k8s.io/v1: strict. Errors name the fields of core/v1, as Kubernetes' errors do."""

    def validate(self, document: Document) -> list[Cause]:
        event = to_core(document)
        return [*_general(event, "reportingController"), *_creation(event)]

    def validate_update(self, document: Document, old: Document) -> list[Cause]:
        event = to_core(document)
        return [*_general(event, "reportingController"), *_update(event, to_core(old))]

    def convert(self, document: Document) -> Document:
        return to_events(document)


def _general(event: Document, controller_field: str) -> Iterator[Cause]:
    namespace = event["metadata"].get("namespace", "")
    about = (event.get("involvedObject") or {}).get("namespace", "")
    timed = bool(event.get("eventTime"))
    if not about:
        matches = namespace == "default" or (timed and namespace == "kube-system")
    else:
        matches = timed or about == namespace
    if not matches:
        yield invalid("involvedObject.namespace", about, "does not match event.namespace")
    if not timed:
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
    yield from _series(event)
    if not event.get("eventTime"):
        yield required("eventTime")
    if event.get("type") not in ("Normal", "Warning"):
        yield invalid("type", "", f"has invalid value: {event.get('type', '')}")
    for field in _OLD_FIELDS:
        if event.get(field):
            yield invalid(field, "", "needs to be unset")


def _update(event: Document, old: Document) -> Iterator[Cause]:
    if event.get("series") != old.get("series"):
        yield from _series(event)
    for field in _IMMUTABLE:
        value, before = event.get(field), old.get(field)
        if value != before:
            name = "reportingController" if field == "reportingComponent" else field
            shown = _ZEROS.get(field, "") if value is None and isinstance(before, str | int) else value
            yield invalid(name, shown, fields.IMMUTABLE, whole=True)


def _series(event: Document) -> Iterator[Cause]:
    series = event.get("series")
    if series is None:
        return
    if series.get("count", 0) < 2:
        yield invalid("series.count", "", "should be at least 2")
    yield from fields.needed(series, "series", "lastObservedTime")
