"""The errors of reconcilers during a test, for its report. A controller logs them and tries again."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pilotage.telemetry.lines import Event

_LOGGER = "pilotage.controller"
_MESSAGE = "Reconciler error"
_SHOWN = 5


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
    try:
        yield handler.failures
    finally:
        logger.removeHandler(handler)


def report(failures: list[ReconcileFailure]) -> str:
    """The last different ones, each with its traceback."""
    different = {(one.controller, one.request, type(one.error), str(one.error)): one for one in failures}
    lines = [f"{len(failures)} reconciles raised an error" if len(failures) > 1 else "a reconcile raised an error"]
    for one in list(different.values())[-_SHOWN:]:
        count = sum(str(each.error) == str(one.error) and each.request == one.request for each in failures)
        lines.append(f"\n{one.controller} {one.request}{f' ({count} times)' if count > 1 else ''}:")
        lines.append("".join(traceback.format_exception(one.error)).rstrip())
    return "\n".join(lines)


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.failures: list[ReconcileFailure] = []

    def emit(self, record: logging.LogRecord) -> None:
        event = record.msg
        if not isinstance(event, Event) or event.message != _MESSAGE:
            return
        fields = event.fields
        error = fields.get("error")
        if isinstance(error, BaseException):
            request = f"{fields.get('namespace', '')}/{fields.get('name', '')}".strip("/")
            self.failures.append(ReconcileFailure(str(fields.get("controller", "")), request, error))
