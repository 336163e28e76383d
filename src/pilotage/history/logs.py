"""Log lines of reconciles, for the history: every line that is shown and that was logged while a reconcile ran."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pilotage.history.history import History
from pilotage.history.records import CURRENT, LogNote

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
        if run is None or run.journal.history is not self._history or record.name in _OWN:
            return
        try:
            text = record.getMessage()
        except Exception:
            self.handleError(record)
            return
        run.add(LogNote(self._now(), record.levelname, text))


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
