"""The file of a recording: opened without harm to other files, reserved at once, and written in turn in its halves.

What is written is in the memory of the kernel at once, so it survives the end of the process, however it ends; the
kernel writes it to the disk when it likes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence

from pilotage.recording.errors import RecordingError
from pilotage.recording.frames import (
    FRAME,
    HEADER_SIZE,
    START_SIZE,
    Layout,
    frame_of,
    frames,
    generation_of,
    header_of,
    layout_for,
    layout_of,
    start_of,
)


class RecordingFile:
    """A file that is being recorded to. It is open until `close`."""

    def __init__(self, path: str, most: int) -> None:
        """Continues a recording. Raises RecordingError for another file, and OSError, also where the disk is full."""
        self.path = path
        self._descriptor = _opened(path)
        try:
            _lock(self._descriptor, path)
            self._layout = layout_for(most)
            self._generation, self._position = self._continued() or self._begun()
        except BaseException:
            self.close()
            raise

    def fits(self, entries: Sequence[bytes]) -> bool:
        """Whether the current half has room for these."""
        return self._position + sum(map(len, entries)) + FRAME.size * len(entries) <= self._layout.half

    def append(self, entries: Sequence[bytes]) -> None:
        """Append entries, for which there is room. Raises OSError."""
        data = b"".join([frame_of(entry, self._generation) for entry in entries])
        self._write(data, self._layout.offset(self._generation) + self._position)
        self._position += len(data)

    def switch(self) -> None:
        """Begin to overwrite the other half, which is the older one. Raises OSError."""
        self._write(start_of(self._generation + 1), self._layout.offset(self._generation + 1))
        self._generation += 1
        self._position = START_SIZE

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _begun(self) -> tuple[int, int]:
        """A new recording. The disk space is reserved: a disk that is full is found now."""
        os.ftruncate(self._descriptor, 0)
        _reserve(self._descriptor, self._layout.size)
        self._write(header_of(self._layout), 0)
        self._write(start_of(1), self._layout.offset(1))
        return 1, START_SIZE

    def _continued(self) -> tuple[int, int] | None:
        """The generation that is written and where its last frame ends; None for a new file, or one of another size."""
        header = os.pread(self._descriptor, HEADER_SIZE, 0)
        if not header:
            return None
        if layout_of(header, self.path) != self._layout:
            return None
        _reserve(self._descriptor, self._layout.size)
        found = [os.pread(self._descriptor, START_SIZE, self._layout.offset(half)) for half in (0, 1)]
        generation = max(map(generation_of, found))
        if not generation:
            return None
        half = memoryview(os.pread(self._descriptor, self._layout.half, self._layout.offset(generation)))
        return generation, max((end for _, end in frames(half)), default=START_SIZE)

    def _write(self, data: bytes, offset: int) -> None:
        written = os.pwrite(self._descriptor, data, offset)
        while written < len(data):
            more = os.pwrite(self._descriptor, data[written:], offset + written)
            if not more:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written += more


def check_file(path: str) -> None:
    """Raise RecordingError if a file exists that cannot be recorded to."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            header = file.read(HEADER_SIZE)
    except FileNotFoundError:
        return
    except OSError as error:
        raise RecordingError(f"cannot record to {path}: {error.strerror}") from error
    if header:
        layout_of(header, path)


def read_file(path: str) -> tuple[bytes, Layout]:
    """What a recording has now, and its layout. Raises RecordingError."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise RecordingError(f"{path} is not a file")
            layout = layout_of(file.read(HEADER_SIZE), path)
            file.seek(0)
            return file.read(min(layout.size, found.st_size)), layout
    except OSError as error:
        raise RecordingError(f"cannot read the recording {path}: {error.strerror}") from error


def _without_waiting(path: str, flags: int) -> int:
    """Open a file, also a pipe that nothing writes to."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _opened(path: str) -> int:
    """Open a file of this user, for this user alone. A symbolic link is followed only if it is of this user, too."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        if error.errno != errno.ELOOP or os.lstat(path).st_uid != os.geteuid():
            raise
        descriptor = os.open(path, flags, 0o600)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(descriptor)
        raise RecordingError(f"cannot record to {path}: it is not a file of this user; give another file")
    if found.st_mode & 0o077:
        os.fchmod(descriptor, 0o600)
    return descriptor


def _lock(descriptor: int, path: str) -> None:
    """The lock ends with the process, however it ends."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RecordingError(f"another process records to {path}: give each process a file of its own") from None


def _reserve(descriptor: int, size: int) -> None:
    """Reserve the disk space of a file: a write to it then does not find the disk full."""
    try:
        os.posix_fallocate(descriptor, 0, size)
    except AttributeError:  # macOS
        os.ftruncate(descriptor, size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):
            raise
        os.ftruncate(descriptor, size)  # a file system that cannot reserve
