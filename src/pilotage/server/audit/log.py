"""The file of the audit log: written by a thread, rotated by its size."""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType

from pilotage.meta.bounds.optionfields import check_fields, count_field
from pilotage.meta.scalars import times
from pilotage.telemetry.logs import logger

STANDARD_OUTPUT = "-"
_log = logger("pilotage.server.audit")


@dataclass(frozen=True, slots=True)
class AuditLogOptions:
    """Where the log is written. Sizes are in bytes."""

    path: str
    """A file, or `-` for the standard output."""
    max_size: int = count_field(100 * 2**20)
    """The size at which the file is rotated; 0: never."""
    max_backups: int = count_field(0)
    """How many rotated files are kept; 0: all."""
    waiting_bytes: int = count_field(16 * 2**20)
    """How much may wait to be written; more is dropped, and the number of dropped events is logged."""

    def __post_init__(self) -> None:
        check_fields(self)


class AuditLog:
    """Writes lines in the order in which they arrive. A failure to write is logged, and does not stop the server.

    As a context manager it opens the file, and writes what waits before it is closed.
    """

    def __init__(self, options: AuditLogOptions, clock: times.Clock = times.system_clock) -> None:
        self.dropped = 0
        """Events that were not written."""
        self._options = options
        self._clock = clock
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._changed = threading.Condition()
        self._closed = False
        self._failed = False
        self._file: _File | _StandardOutput | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> AuditLog:
        """Raises OSError if the file cannot be opened."""
        self._file = _open(self._options, self._clock)
        self._thread = threading.Thread(target=self._run, name="pilotage audit log", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def write(self, line: bytes) -> None:
        """Queue a line to be written. It neither waits nor fails."""
        with self._changed:
            if self._closed or self._size + len(line) > self._options.waiting_bytes:
                self._drop(1, "too many events wait to be written")
                return
            self._waiting.append(line)
            self._size += len(line)
            self._changed.notify()

    def _run(self) -> None:
        assert self._file is not None
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                lines, self._size = list(self._waiting), 0
                self._waiting.clear()
            if not lines:
                break
            try:
                self._file.write(lines)
                self._failed = False
            except OSError as error:  # the disk is full
                with self._changed:
                    self._drop(len(lines), str(error))
        self._file.close()

    def _drop(self, count: int, reason: str) -> None:
        """Count events that are lost. It is reported once, until something could be written again."""
        self.dropped += count
        if not self._failed:
            self._failed = True
            _log.error("Audit events are lost", path=self._options.path, error=reason, lost=self.dropped)


class SharedAuditLog:
    """A log that several processes append to: each line is one write at the end of the file, so that lines never mix.
    It is not rotated. A failure to write is logged, and does not stop the program."""

    def __init__(self, path: str) -> None:
        """Raises OSError if the file cannot be opened."""
        self.dropped = 0
        """Events that were not written."""
        self._torn = False  # whether the file ends with a part of a line of ours
        self._path = Path(path).expanduser()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def write(self, line: bytes) -> None:
        """Append a line."""
        data = (b"\n" if self._torn else b"") + line + b"\n"
        try:
            written = os.write(self._descriptor, data)
            self._torn = written < len(data)
            if self._torn:  # the disk is full
                os.write(self._descriptor, b"\n")
                self._torn = False
                raise OSError(errno.ENOSPC, "No space left on device")
        except OSError as error:
            if not self.dropped:
                _log.error("Audit events are lost", path=str(self._path), error=str(error))
            self.dropped += 1

    def close(self) -> None:
        """Close the file. What is written afterwards is lost, and not added to a file that has its descriptor then."""
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)


class _File:
    """The file that is written now."""

    def __init__(self, path: Path, options: AuditLogOptions, clock: Callable[[], datetime]) -> None:
        self._path = path
        self._options = options
        self._clock = clock
        self._descriptor = -1  # closed
        self._written = 0
        self._open()

    def write(self, lines: list[bytes]) -> None:
        """Append lines. They are removed from the list when they are written. Raises OSError."""
        limit = self._options.max_size
        while lines:
            if self._descriptor < 0:
                self._open()
            size = self._written
            count = 0
            for line in lines:
                if limit and size and size + len(line) + 1 > limit:
                    break
                size += len(line) + 1
                count += 1
            self._append(b"".join(line + b"\n" for line in lines[:count]))
            del lines[:count]
            if lines:
                self._rotate()

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._written = os.fstat(self._descriptor).st_size

    def _append(self, data: bytes) -> None:
        """Write all of it or nothing: behind a part of a line, the next one could not be read."""
        done = 0
        try:
            while done < len(data):
                done += os.write(self._descriptor, data[done:])
        except OSError:
            if done:
                os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - done)
            raise
        self._written += done

    def _rotate(self) -> None:
        self.close()
        os.replace(self._path, self._backup_path())
        for old in self._backups()[: -self._options.max_backups or None] if self._options.max_backups else ():
            old.unlink(missing_ok=True)

    def _backup_path(self) -> Path:
        """`audit-2026-01-02T03-04-05.678.log` beside `audit.log`, as kube-apiserver names it."""
        time = self._clock()
        text = f"{time:%Y-%m-%dT%H-%M-%S}.{time.microsecond // 1000:03}"
        path = self._path.with_name(f"{self._path.stem}-{text}{self._path.suffix}")
        number = 0
        while path.exists():  # of the same millisecond
            number += 1
            path = self._path.with_name(f"{self._path.stem}-{text}-{number:04}{self._path.suffix}")
        return path

    def _backups(self) -> list[Path]:
        """The rotated files, the oldest first."""
        pattern = f"{self._path.stem}-[0-9][0-9][0-9][0-9]-*{self._path.suffix}"
        return sorted(self._path.parent.glob(pattern))


class _StandardOutput:
    """The standard output, which is neither rotated nor closed."""

    def write(self, lines: list[bytes]) -> None:
        sys.stdout.buffer.write(b"".join(line + b"\n" for line in lines))
        sys.stdout.buffer.flush()
        lines.clear()

    def close(self) -> None:
        pass


def _open(options: AuditLogOptions, clock: Callable[[], datetime]) -> _File | _StandardOutput:
    return _StandardOutput() if options.path == STANDARD_OUTPUT else _File(Path(options.path), options, clock)
