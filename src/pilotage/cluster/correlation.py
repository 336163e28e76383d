"""Correlation of core/v1 events: repeated events are counted, similar ones are combined, and too many are dropped.

The rules and figures are client-go's. No I/O: an occurrence in, the record to write out.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Hashable
from datetime import datetime, timedelta

from msgspec.structs import replace

from pilotage.meta.bounds.recent import Recent
from pilotage.meta.bounds.tokenbucket import TokenBuckets
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.scalars import times
from pilotage.meta.validation import names
from pilotage.meta.values import Value

CORE_EVENTS = GroupVersionResource("", "v1", "events")
REMEMBERED = 4096
SIMILAR = 10
"""The number of different messages of one object and reason above which they are combined into one event."""
SIMILAR_SECONDS = 600
BURST = 25
REFILL_SECONDS = 300
COMBINED = "(combined from similar events): "


class ObjectReference(Value, frozen=True):
    """The object that an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str = ""
    field_path: str = ""

    def document(self) -> dict[str, str]:
        keys = ("apiVersion", "kind", "namespace", "name", "uid", "resourceVersion", "fieldPath")
        values = (
            *(self.api_version, self.kind, self.namespace, self.name, self.uid, self.resource_version),
            self.field_path,
        )
        return {key: value for key, value in zip(keys, values, strict=True) if value}

    @property
    def identity(self) -> Hashable:
        """What identifies the object and its part, without its version."""
        return self.api_version, self.kind, self.namespace, self.name, self.uid, self.field_path


class Occurrence(Value, frozen=True):
    """Something that happened to an object, as passed to a recorder."""

    component: str
    regarding: ObjectReference
    type: str
    reason: str
    message: str
    time: datetime
    annotations: tuple[tuple[str, str], ...] = ()
    action: str = ""
    related: ObjectReference | None = None
    instance: str = ""
    """The process that reports it. Events of core/v1 do not have it."""

    @property
    def namespace(self) -> str:
        """The namespace of its event: `default` for objects without a namespace."""
        return self.regarding.namespace or "default"

    @property
    def source(self) -> Hashable:
        return self.component, self.regarding.identity

    @property
    def similar(self) -> Hashable:
        return self.source, self.type, self.reason

    @property
    def event_metadata(self) -> dict[str, object]:
        """The metadata of its event, without the name."""
        metadata: dict[str, object] = {"namespace": self.namespace}
        return metadata | {"annotations": dict(self.annotations)} if self.annotations else metadata

    @property
    def details(self) -> dict[str, object]:
        """The optional fields that both APIs have."""
        found: dict[str, object] = {"action": self.action} if self.action else {}
        return found | {"related": self.related.document()} if self.related is not None else found


class EventRecord(Value, frozen=True):
    """An event as it should be on the server. A `count` of 1 is a new event, more than 1 an existing one."""

    occurrence: Occurrence
    name: str
    first: datetime
    count: int = 1

    @property
    def resource(self) -> GroupVersionResource:
        return CORE_EVENTS

    @property
    def is_new(self) -> bool:
        return self.count == 1

    def document(self) -> dict[str, object]:
        """The whole event, to be created."""
        occurrence = self.occurrence
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": self.name, **occurrence.event_metadata},
            "involvedObject": occurrence.regarding.document(),
            "reason": occurrence.reason,
            "type": occurrence.type,
            "source": {"component": occurrence.component},
            "reportingComponent": occurrence.component,
            "reportingInstance": "",
            "firstTimestamp": times.format(self.first),
            **occurrence.details,
            **self.patch(),
        }

    def patch(self) -> dict[str, object]:
        """The fields that change when it happens again."""
        occurrence = self.occurrence
        return {
            "message": occurrence.message,
            "count": self.count,
            "lastTimestamp": times.format(occurrence.time),
        }


class EventNames:
    """The names of new events: the name of the object with the time, or a UUID if that is not a valid name."""

    def __init__(self, new_uuid: Callable[[], str] = lambda: str(uuid.uuid4())) -> None:
        self._new_uuid = new_uuid
        self._last = 0

    def next(self, occurrence: Occurrence) -> str:
        # Two events of one microsecond differ in their nanoseconds.
        self._last = max(int(occurrence.time.timestamp() * 1_000_000) * 1000, self._last + 1)
        name = f"{occurrence.regarding.name}.{self._last:x}"
        return name if not names.dns_1123_subdomain(name) else self._new_uuid()


class Correlator:
    """Decides how each occurrence is written. Its memory is bounded: the least recently used entry is dropped."""

    def __init__(self, event_names: EventNames | None = None) -> None:
        self._names = event_names or EventNames()
        self._similar: Recent[Hashable, _Similar] = Recent(REMEMBERED)
        self._records: Recent[Hashable, EventRecord] = Recent(REMEMBERED)
        self._buckets = TokenBuckets(1 / REFILL_SECONDS, BURST, REMEMBERED)

    def correlate(self, occurrence: Occurrence) -> EventRecord | None:
        """The event to create, or the event whose count is increased; None if the object has had too many events."""
        occurrence, key = self._combine(occurrence)
        last = self._records.get(key)
        if last is None:
            record = EventRecord(occurrence, self._names.next(occurrence), occurrence.time)
        else:
            record = replace(last, occurrence=occurrence, count=last.count + 1)
        self._records[key] = record
        return record if self._buckets.try_take(occurrence.source, occurrence.time.timestamp()) else None

    def _combine(self, occurrence: Occurrence) -> tuple[Occurrence, Hashable]:
        group = occurrence.similar
        similar = self._similar.get(group)
        if similar is None or occurrence.time - similar.last > timedelta(seconds=SIMILAR_SECONDS):
            similar = _Similar(occurrence.time)
        self._similar[group] = similar
        similar.last = occurrence.time
        similar.messages[occurrence.message] = None
        if len(similar.messages) < SIMILAR:
            return (occurrence, (group, occurrence.message))
        del similar.messages[next(iter(similar.messages))]  # the number of messages counts, not which they are
        return replace(occurrence, message=COMBINED + occurrence.message), group


class _Similar:
    def __init__(self, last: datetime) -> None:
        self.last = last
        self.messages: dict[str, None] = {}
