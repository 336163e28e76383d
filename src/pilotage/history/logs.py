"""Log lines of reconciles, for the history: every line that is shown and that was logged while a reconcile ran."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pilotage.history.history import History
from pilotage.history.records import LogNote, Named
from pilotage.history.runs import CURRENT
from pilotage.telemetry.lines import LogEvent, event_of, text_of

_NO_VALUE = object()
_OF_RECONCILE = {"controller", "controllerGroup", "controllerKind", "reconcileID"}
"""Fields that every line of a reconcile has."""
_OWN = ("pilotage.controller", "pilotage.client")
"""Loggers whose lines say what the history has anyway: results of reconciles, and requests."""


class HistoryHandler(logging.Handler):
    """Adds each line to the reconcile of the task that logged it, if its history is this one."""

    def __init__(self, history: History, now: Callable[[], float]) -> None:
        super().__init__()
        self._history = history
        self._now = now

    def emit(self, record: logging.LogRecord) -> None:
        run = CURRENT.get()
        if run is None or run.controller.history is not self._history or record.name in _OWN:
            return
        text = event_text(record, run.request)
        run.add(LogNote(self._now(), record.levelname, text), len(text))


def event_text(record: logging.LogRecord, request: Named) -> str:
    """The message of a line with its fields, without those that name its reconcile."""
    event = event_of(record)
    known = {"namespace": request.namespace, "name": request.name}
    fields = {
        key: value
        for key, value in event.fields.items()
        if key not in _OF_RECONCILE and known.get(key, _NO_VALUE) != value
    }
    error = fields.pop("error", None)
    message = text_of(event.message) if error is None else f"{text_of(event.message)}: {text_of(error)}"
    return str(LogEvent(message, fields))


@contextmanager
def recorded_logs(history: History, now: Callable[[], float]) -> Iterator[None]:
    """Record the log lines of reconciles in the block. `now` is the time of the loop."""
    handler = HistoryHandler(history, now)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
