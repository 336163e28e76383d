"""The tape of a reconcile that is recorded: what it reads beside objects is appended to the file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING

from pilotage.history.records import CallNote
from pilotage.history.runs import Run
from pilotage.history.tapes import Kept
from pilotage.recording.entries import ValueEntry

if TYPE_CHECKING:
    from pilotage.recording.recorder import Recorder

CLOCK, RANDOM_BYTES, SECRET_BYTES = "clock", "random bytes", "secret bytes"
"""The names of values that are not results of calls."""


class RecordingTape:
    """Appends the values of one reconcile."""

    is_replayed = False

    def __init__(self, recorder: Recorder, run: Run, seed: int, *, keeps_secrets: bool) -> None:
        self._recorder = recorder
        self._number = run.number  # not the run itself, which the cyclic collector does not see
        self._seed = seed
        self._keeps_secrets = keeps_secrets
        self._reads_clock = False

    @cached_property
    def random(self) -> Random:
        return Random(self._seed)  # noqa: S311 as the program has asked for

    def answered(self, run: Run, call: CallNote) -> None:
        self._recorder.answered(run, call)

    def failed(self, run: Run, call: CallNote, error: BaseException) -> None:
        self._recorder.answered(run, call, error)

    def moment(self, clock: Callable[[], datetime]) -> datetime:
        if self._reads_clock:  # a clock that is read through another one
            return clock()
        self._reads_clock = True
        try:
            moment = clock()
        finally:
            self._reads_clock = False
        self.keep(CLOCK, Kept(moment.isoformat().encode()))
        return moment

    def entropy(self, count: int, source: Callable[[int], bytes], *, is_secret: bool) -> bytes:
        data = source(count)
        if self._keeps_secrets or not is_secret:
            self.keep(SECRET_BYTES if is_secret else RANDOM_BYTES, Kept(data))
        return data

    def recalled(self, call: str) -> None:
        return None

    def keep(self, call: str, result: Kept) -> None:
        number = self._number
        self._recorder.write(lambda batch: ValueEntry(number, call, result.data, result.error, result.message))
