"""How much is shown in a second: what is too much is counted, and reported when the second is over."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from pilotage.history.runs import Run
from pilotage.meta.text.counts import counted
from pilotage.telemetry.lines import escaped

LINES = 100
"""Lines in a second."""
LINES_OF_ERRORS = 40
"""Further lines in a second, for reconciles that have failed."""
_SECONDS = 1.0


class LineBudget:
    """The lines of the current second. `report` is called with a sentence about the reconciles that were left out."""

    def __init__(self, report: Callable[[str], object]) -> None:
        self._report = report
        self._began = 0.0
        self._lines = 0
        self._results: Counter[str] = Counter()
        self._last_error = ""
        self._end: asyncio.TimerHandle | None = None

    def has_room(self, now: float, *, is_error: bool = False) -> bool:
        """Whether a reconcile may be shown now, by the time of the loop."""
        if self._end is None and now - self._began >= _SECONDS:
            self._began, self._lines = now, 0
        return self._lines < (LINES + LINES_OF_ERRORS if is_error else LINES)

    def spend(self, lines: int) -> None:
        """Count lines that were shown."""
        self._lines += lines

    def leave_out(self, run: Run) -> None:
        """Count a reconcile that is not shown."""
        self._results[run.result.partition("=")[0] or "cancelled"] += 1
        if run.error:
            self._last_error = f"; the last one: {run.controller.name} {_key(run)}: {run.error}"
        if self._end is None:
            self._end = asyncio.get_running_loop().call_later(_SECONDS, self.close)

    def close(self) -> None:
        """Report what was left out, and begin a new second."""
        if self._end is not None:
            self._end.cancel()
            results = ", ".join(f"{count:,} {result}" for result, count in self._results.most_common())
            count = counted(self._results.total(), "reconcile")
            self._report(escaped(f"{count} in a second, not shown: {results}{self._last_error}"))
        self._end, self._began, self._lines, self._last_error = None, 0.0, 0, ""
        self._results.clear()


def _key(run: Run) -> str:
    return "/".join(part for part in (run.request.namespace, run.request.name) if part)
