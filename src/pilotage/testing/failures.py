"""The errors of reconcilers during a test, for its report. A controller logs them and tries again."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from pilotage.telemetry.lines import LogEvent

_LOGGER = "pilotage.controller"
_MESSAGE = "Reconciler error"
_SHOWN = 5
_PACKAGE = str(Path(__file__).parents[1])


@dataclass(frozen=True, slots=True)
class ReconcileFailure:
    """One reconcile that raised."""

    controller: str
    request: str
    """NAMESPACE/NAME of the object."""
    error: BaseException


@contextmanager
def collected() -> Iterator[list[ReconcileFailure]]:
    """The reconciles that fail in the block, in their order."""
    handler = _Collector()
    logger = logging.getLogger(_LOGGER)
    logger.addHandler(handler)
    logger.addFilter(handler.shorten)
    try:
        yield handler.failures
    finally:
        logger.removeFilter(handler.shorten)
        logger.removeHandler(handler)


def report(failures: list[ReconcileFailure]) -> str:
    """The last different ones, each with its traceback."""
    different = {(one.controller, one.request, type(one.error), str(one.error)): one for one in failures}
    lines = [f"{len(failures)} reconciles raised an error" if len(failures) > 1 else "a reconcile raised an error"]
    for one in list(different.values())[-_SHOWN:]:
        count = sum(str(each.error) == str(one.error) and each.request == one.request for each in failures)
        lines.append(f"\n{one.controller} {one.request}{f' ({count} times)' if count > 1 else ''}:")
        lines.append("".join(traceback.format_exception(type(one.error), one.error, _own_frames(one.error))).rstrip())
    return "\n".join(lines)


def _own_frames(error: BaseException) -> TracebackType | None:
    """The traceback from the first frame that is not Pilotage's on."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        frames = frames.tb_next
    return frames or error.__traceback__


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.failures: list[ReconcileFailure] = []

        self._logged: set[tuple[str, str, str]] = set()

    def emit(self, record: logging.LogRecord) -> None:
        failure = _failure(record)
        if failure is not None:
            self.failures.append(failure)

    def shorten(self, record: logging.LogRecord) -> bool:
        """Log the traceback of an error once: a request that fails for hours of virtual time fails often."""
        failure = _failure(record)
        if failure is not None:
            key = (failure.controller, failure.request, repr(failure.error))
            if key in self._logged:
                record.exc_info = None
            self._logged.add(key)
        return True


def _failure(record: logging.LogRecord) -> ReconcileFailure | None:
    event = record.msg
    if not isinstance(event, LogEvent) or event.message != _MESSAGE:
        return None
    fields = event.fields
    error = fields.get("error")
    if not isinstance(error, BaseException):
        return None
    request = f"{fields.get('namespace', '')}/{fields.get('name', '')}".strip("/")
    return ReconcileFailure(str(fields.get("controller", "")), request, error)
