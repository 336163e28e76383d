"""The recorder: writes a history to a file while it happens. A failure to write ends the recording, not the program."""

from __future__ import annotations

import os
import platform
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from random import SystemRandom

from pilotage.history.history import History
from pilotage.history.records import CallNote, ListNote, LogNote, ReadNote, Step
from pilotage.history.runs import Run
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.recording import encoding
from pilotage.recording.batch import Batch
from pilotage.recording.concealment import Concealer
from pilotage.recording.entries import EndEntry, Record, ServedEntry, SessionEntry
from pilotage.recording.errors import RecordingError
from pilotage.recording.file import RecordingFile
from pilotage.recording.randomness import watched_values
from pilotage.recording.tape import RecordingTape
from pilotage.telemetry.logs import logger
from pilotage.version import installed_version

log = logger("pilotage.recording")

_SYSTEM = SystemRandom()


class Recorder:
    """A listener of a history that appends to a file. It may be called by threads, too."""

    keeps_lists = True

    def __init__(
        self, history: History, file: RecordingFile, served: Callable[[], Sequence[RESTMapping]] = tuple
    ) -> None:
        """`served` returns what is known of the API server's kinds."""
        self._history = weakref.ref(history)  # which has the recorder, as the tapes of its records do
        self._file: RecordingFile | None = file
        self._keeps_secrets = history.options.record_secrets
        self._served = served
        self._shown: Sequence[RESTMapping] = ()
        self._known: dict[bytes, int] = {}
        self._lock = threading.Lock()
        self._id = os.urandom(8).hex()
        self._has_session = False
        self._concealer = Concealer(history.options, history.hash_key)

    def begun(self, run: Run) -> None:
        seed = _SYSTEM.getrandbits(63)
        run.tape = RecordingTape(self, run, seed, keeps_secrets=self._keeps_secrets)
        if (served := self._served()) is not self._shown:
            self._shown = served
            self.write(self._served_entry)
        self.write(partial(encoding.begun, self._concealer, run, seed))

    def step(self, run: Run, step: Step) -> None:
        number = len(run.steps) - 1
        if isinstance(step, ReadNote):
            self.write(partial(encoding.read, self._concealer, run, number, step))
        elif isinstance(step, ListNote):
            self.write(partial(encoding.listed, self._concealer, run, number, step))
        elif isinstance(step, CallNote):
            self.write(partial(encoding.call, self._concealer, run, number, step))
        elif isinstance(step, LogNote):
            self.write(partial(encoding.log, run, step))

    def answered(self, run: Run, call: CallNote, error: BaseException | None = None) -> None:
        """A request of a reconcile was answered, or has failed."""
        number = next((number for number in reversed(range(len(run.steps))) if run.steps[number] is call), None)
        if number is not None:
            self.write(partial(encoding.answer, self._concealer, run, number, call, error))

    def ended(self, run: Run) -> None:
        written = [
            (number, *one)
            for number, step in enumerate(run.steps)
            for one in (step.written if isinstance(step, CallNote) else ())
        ]
        ended = run.ended if run.ended is not None else run.began
        self.write(lambda batch: EndEntry(run.number, ended, run.result, run.error, run.place, run.skipped, written))

    def write(self, entry: Callable[[Batch], Record]) -> None:
        """Append an entry, which is made for the half of the file that has room for it."""
        with self._lock:
            file = self._file
            if file is None:
                return
            try:
                if not self._has_session:
                    self._has_session = True
                    self._append(file, self._session_entry)
                self._append(file, entry)
                return
            except OSError as error:
                self._file, reason = None, error.strerror or str(error)
                file.close()
        # Without the lock: the line may be one of a reconcile that is recorded.
        log.warning("The recording has stopped, the program goes on", file=file.path, error=reason)

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None
        self._served = tuple

    def _append(self, file: RecordingFile, entry: Callable[[Batch], Record]) -> None:
        batch = _batch(self._known, entry)
        if not file.fits(batch.encoded):
            file.switch()
            self._known = {}
            for first in (self._session_entry, self._served_entry):
                opening = _batch(self._known, first)
                file.append(opening.encoded)
                self._known |= opening.added
            batch = _batch(self._known, entry)
            if not file.fits(batch.encoded):
                return  # larger than half of the file
        file.append(batch.encoded)
        if batch.added:
            self._known |= batch.added

    def _session_entry(self, batch: Batch) -> SessionEntry:
        history = self._history()
        assert history is not None  # it is being recorded
        moment, at = history.anchor or (0.0, history.clock())
        return SessionEntry(
            id=self._id,
            program=history.program,
            version=installed_version(""),
            python=platform.python_version(),
            pid=os.getpid(),
            moment=moment,
            at=at.isoformat(),
            hash_key=history.hash_key if history.options.record_secrets else b"",
        )

    def _served_entry(self, batch: Batch) -> ServedEntry:
        return ServedEntry(batch.value(self._shown))


@contextmanager
def recorded_file(history: History, served: Callable[[], Sequence[RESTMapping]] = tuple) -> Iterator[None]:
    """Record a history to the file of its options in the block. A file that cannot be used is logged."""
    options = history.options
    try:
        file = RecordingFile(options.file, options.max_file_bytes)
    except (OSError, RecordingError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        log.warning("Nothing is recorded, the program goes on", file=options.file, error=reason)
        yield
        return
    recorder = Recorder(history, file, served)
    unsubscribe = history.subscribe(recorder)
    try:
        with watched_values():
            yield
    finally:
        unsubscribe()
        recorder.close()


def _batch(known: dict[bytes, int], entry: Callable[[Batch], Record]) -> Batch:
    batch = Batch(known)
    batch.add(entry(batch))
    return batch
