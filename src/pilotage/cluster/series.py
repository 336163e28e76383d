"""Series of events.k8s.io/v1 events: an event that happens again is counted in its series.

The rules and figures are client-go's: the first event is created, the second one starts a series, and further ones are
counted here until the series is refreshed or finished. No I/O: an occurrence in, the record to write out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pilotage.cluster.correlation import REMEMBERED, EventNames, Occurrence
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.scalars.times import MicroTime

API_VERSION = "events.k8s.io/v1"
EVENTS = GroupVersionResource("events.k8s.io", "v1", "events")
FINISH_SECONDS = 360
"""A series without another event for this long is finished."""
REFRESH_SECONDS = 1800
"""The count of a series is written at least this often while it lasts, so that its event does not expire."""
MAX_NOTE_BYTES = 1024
MAX_INSTANCE_BYTES = 128


@dataclass(frozen=True, slots=True)
class SeriesRecord:
    """An event as it should be on the server. Without a series it is a new event."""

    occurrence: Occurrence
    name: str
    count: int = 1
    last: datetime | None = None
    """The time of the last event of the series."""
    written: int = 0
    """The count that was last returned to be written."""

    @property
    def resource(self) -> GroupVersionResource:
        return EVENTS

    @property
    def is_new(self) -> bool:
        return self.last is None

    def document(self) -> dict[str, object]:
        """The whole event, to be created."""
        occurrence = self.occurrence
        return {
            "apiVersion": API_VERSION,
            "kind": "Event",
            "metadata": {"name": self.name, **occurrence.event_metadata},
            "eventTime": MicroTime.of(occurrence.time).format(),
            "reportingController": occurrence.component,
            "reportingInstance": truncated(occurrence.instance, MAX_INSTANCE_BYTES),
            "reason": occurrence.reason,
            "regarding": occurrence.regarding.document(),
            "note": truncated(occurrence.message, MAX_NOTE_BYTES),
            "type": occurrence.type,
            **occurrence.details,
            **(self.patch() if self.last is not None else {}),
        }

    def patch(self) -> dict[str, object]:
        """The fields that change when it happens again."""
        assert self.last is not None, "a new event is created"
        return {"series": {"count": self.count, "lastObservedTime": MicroTime.of(self.last).format()}}


class EventSeries:
    """Decides which occurrences are written. At most 4,096 series are remembered."""

    def __init__(self, event_names: EventNames | None = None) -> None:
        self._names = event_names or EventNames()
        self._records: OrderedDict[Hashable, SeriesRecord] = OrderedDict()
        self._refreshed: datetime | None = None

    def __bool__(self) -> bool:
        """Whether a series is not finished."""
        return bool(self._records)

    def add(self, occurrence: Occurrence) -> Iterator[SeriesRecord]:
        """The events to write now: a new one, one whose series starts, or none."""
        key = _key(occurrence)
        known = self._records.get(key)
        if known is None:
            self._refreshed = self._refreshed or occurrence.time
            yield self._keep(key, SeriesRecord(occurrence, self._names.next(occurrence), written=1))
            yield from self._forget_oldest()
            return
        starts = known.last is None
        count = known.count + 1
        record = self._keep(
            key, replace(known, count=count, last=occurrence.time, written=count if starts else known.written)
        )
        if starts:
            yield record

    def due(self, now: datetime) -> Iterator[SeriesRecord]:
        """The series whose count is to be written now: those that are finished, and, in time, all others."""
        finished = [key for key, record in self._records.items() if _is_finished(record, now)]
        yield from _unwritten([self._records.pop(key) for key in finished])
        if not self._records:
            self._refreshed = None
        elif self._refreshed is not None and now - self._refreshed >= timedelta(seconds=REFRESH_SECONDS):
            self._refreshed = now
            for key, record in list(self._records.items()):
                yield from _unwritten([record])
                self._records[key] = replace(record, written=record.count)

    def finish(self) -> Iterator[SeriesRecord]:
        """Finish all series: those whose count is not written yet."""
        records, self._records = self._records, OrderedDict()
        yield from _unwritten(records.values())

    def _keep(self, key: Hashable, record: SeriesRecord) -> SeriesRecord:
        self._records[key] = record
        self._records.move_to_end(key)
        return record

    def _forget_oldest(self) -> Iterator[SeriesRecord]:
        if len(self._records) > REMEMBERED:
            yield from _unwritten([self._records.popitem(last=False)[1]])


def _key(occurrence: Occurrence) -> Hashable:
    related = occurrence.related.identity if occurrence.related is not None else None
    return occurrence.similar, occurrence.action, occurrence.instance, related


def _unwritten(records: Iterable[SeriesRecord]) -> Iterator[SeriesRecord]:
    return (record for record in records if record.count > record.written)


def _is_finished(record: SeriesRecord, now: datetime) -> bool:
    return (record.last or record.occurrence.time) < now - timedelta(seconds=FINISH_SECONDS)


def truncated(text: str, size: int) -> str:
    """The beginning of a text that has at most this many bytes, with an ellipsis where something is left out."""
    encoded = text.encode()
    if len(encoded) <= size:
        return text
    return encoded[: size - 3].decode(errors="ignore") + "..."
