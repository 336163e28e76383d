"""Reports reconciles while a program runs, a paragraph for each, at a bounded rate.

A paragraph is shown when its reconcile has ended. If the reconcile logs a line, or takes longer than a second, what has
happened so far is shown then.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from pilotage.history.history import History
from pilotage.history.narration import narrative
from pilotage.history.narration.budget import LineBudget
from pilotage.history.records import CallNote, Step
from pilotage.history.runs import CURRENT, Run
from pilotage.history.storybuilder import StoryBuilder
from pilotage.history.text import Line
from pilotage.telemetry.logs import logger

_log = logger("pilotage.history")

SLOW_SECONDS = 1.0
"""A reconcile that takes longer shows what has happened so far."""
_EARLIER = 500
"""Reconciles that are searched for the state of an object before a write: a hundred times in a second, perhaps."""


class Paragraph(NamedTuple):
    """The lines of one reconcile, or some of them."""

    heading: narrative.Heading | None
    """None: the lines belong to the paragraph before."""
    lines: tuple[Line, ...]
    is_brief: bool = False
    """Whether the lines are parts of the line of the heading."""


class Narrator:
    """A listener of a history. `write` is called with each paragraph, `shows` selects reconciles.

    `has_logs`: the log lines do not come from the history, but from the calls of `log`, when they are logged.
    """

    keeps_lists = False

    def __init__(
        self,
        history: History,
        write: Callable[[Paragraph], object],
        shows: Callable[[Run], bool] = lambda run: True,
        *,
        has_logs: bool = False,
    ) -> None:
        self._stories = StoryBuilder(history, _EARLIER)
        self._write = write
        self._shows = shows
        self._has_logs = has_logs
        self._open: dict[int, _Open] = {}
        self._last: _Open | None = None
        """The reconcile whose paragraph was written last, if nothing else was printed since."""
        self._budget = LineBudget(self._report)
        self._timer: asyncio.TimerHandle | None = None
        self._lock = threading.RLock()  # a reconciler may log in a thread
        self._stop = history.subscribe(self)

    def close(self) -> None:
        """Report no further reconcile."""
        self._stop()
        with self._lock:
            self._open.clear()
            if self._timer is not None:
                self._timer.cancel()
            self._budget.close()

    def begun(self, run: Run) -> None:
        if not self._shows(run):
            return
        loop = asyncio.get_running_loop()
        with self._lock:
            self._open[run.number] = _Open(run, loop)
            if self._timer is None:
                self._timer = loop.call_later(SLOW_SECONDS, self._show_slow)

    def step(self, run: Run, step: Step) -> None:
        """Is shown later."""

    def ended(self, run: Run) -> None:
        with self._lock:
            if (found := self._open.pop(run.number, None)) is None:
                return
            try:
                self._end(found)
            except Exception:  # a reconcile that cannot be shown must not end the program
                _log.exception("Cannot explain a reconcile", number=run.number)

    def log(self, line: Line, code: Sequence[str] = ()) -> bool:
        """Show a log line of the current reconcile, with lines of code; False if it is not reported here."""
        with self._lock:
            try:
                if (found := self._current()) is not None and self._begin(found):
                    self._emit(found, [*self._steps(found), line, *narrative.code_lines(code)])
                    return True
            except Exception:  # the caller must not fail because it logs a line
                _log.exception("Cannot explain a reconcile", line=line.text)
            self._last = None  # the caller prints it
            return False

    def raised(self, code: Sequence[str]) -> bool:
        """The lines of the program that raised the error of the current reconcile; False if it is not reported here."""
        with self._lock:
            if (found := self._current()) is not None:
                found.code = code
            return found is not None

    def _end(self, found: _Open) -> None:
        error, now = bool(found.run.error), found.loop.time()
        if found.shown is not None:
            self._show_end(found)
        elif found.is_left_out or not self._budget.has_room(now, is_error=error):
            self._budget.leave_out(found.run)
        else:
            self._show_whole(found)

    def _current(self) -> _Open | None:
        run = CURRENT.get()
        found = self._open.get(run.number) if run is not None else None
        return found if found is not None and found.run is run else None

    def _show_slow(self) -> None:
        with self._lock:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(SLOW_SECONDS, self._show_slow) if self._open else None
            for found in self._open.values():
                if loop.time() - found.run.began >= SLOW_SECONDS and self._begin(found):
                    self._emit(found, self._steps(found))

    def _begin(self, found: _Open) -> bool:
        """Show the causes of a reconcile that still runs, once; False if there is no room."""
        if found.shown is None and not found.is_left_out:
            found.is_left_out = not self._budget.has_room(found.loop.time())
            if not found.is_left_out:
                found.shown = 0
                self._emit(found, narrative.cause_lines(self._stories.reconcile(found.run)))
        return not found.is_left_out

    def _steps(self, found: _Open) -> list[Line]:
        """The steps that were not shown yet, up to a request that is still under way."""
        steps, since = found.run.steps, found.shown or 0
        under_way = (
            number
            for number, step in enumerate(steps)
            if number >= since and isinstance(step, CallNote) and not step.ended
        )
        end = found.shown = next(under_way, len(steps))
        if end == since:
            return []
        story = self._stories.reconcile(found.run)
        return [*narrative.step_lines(story.steps[:end], since, with_logs=not self._has_logs)]

    def _show_whole(self, found: _Open) -> None:
        story = self._stories.reconcile(found.run)
        if parts := narrative.brief(story):
            self._budget.spend(1)
            self._last = found
            self._write(Paragraph(narrative.heading(story), parts, is_brief=True))
            return
        steps = narrative.step_lines(story.steps, with_logs=not self._has_logs)
        self._emit(found, [*narrative.cause_lines(story), *steps, *narrative.result_lines(story, found.code)])

    def _show_end(self, found: _Open) -> None:
        story = self._stories.reconcile(found.run)
        self._emit(found, [*self._steps(found), *narrative.result_lines(story, found.code)])

    def _emit(self, found: _Open, lines: Iterable[Line]) -> None:
        """Write lines, with a heading unless they follow lines of the same reconcile."""
        if shown := tuple(lines):
            heading = None if self._last is found else narrative.heading(self._stories.reconcile(found.run))
            self._last = found
            self._budget.spend(len(shown) + (heading is not None))
            self._write(Paragraph(heading, shown))

    def _report(self, sentence: str) -> None:
        with self._lock:
            self._last = None
            self._write(Paragraph(None, (Line("more", sentence),)))


class _Open:
    """A reconcile that runs, and what was shown of it."""

    __slots__ = ("code", "is_left_out", "loop", "run", "shown")

    def __init__(self, run: Run, loop: asyncio.AbstractEventLoop) -> None:
        self.run = run
        self.loop = loop  # a line may be logged in a thread
        self.shown: int | None = None
        """How many of its steps; None: not even its causes."""
        self.code: Sequence[str] = ()
        """The lines of the program that raised its error."""
        self.is_left_out = False
