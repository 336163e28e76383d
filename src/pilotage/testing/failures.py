"""The errors of reconcilers during a test, for its report. A controller logs them and tries again."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from pilotage.manager.failures import ReconcileFailure
from pilotage.telemetry.logs import logged_fields

_LOGGER = "pilotage.controller"
_SHOWN = 5
_PACKAGE = str(Path(__file__).parents[1])


@contextmanager
def shortened_log() -> Iterator[None]:
    """Log the traceback of an error once in the block: a request that fails for hours of virtual time fails often."""
    logged: set[tuple[object, object, object, str]] = set()

    def shorten(record: logging.LogRecord) -> bool:
        if isinstance(record.exc_info, tuple):  # False: a line without a traceback
            fields = logged_fields()
            key = (fields.get("controller"), fields.get("namespace"), fields.get("name"), repr(record.exc_info[1]))
            if key in logged:
                record.exc_info = None
            logged.add(key)
        return True

    logger = logging.getLogger(_LOGGER)
    logger.addFilter(shorten)
    try:
        yield
    finally:
        logger.removeFilter(shorten)


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
