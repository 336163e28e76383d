"""The lock file beside a SQLite storage: one writer at a time, and the last revision of all processes.

Four numbers are mapped into the memory of every process that has the storage open:

    reached    no commit above this can be visible to any process; set before a transaction is committed
    durable    every commit up to this was acknowledged, or may have been; set after it
    holder     the process that holds the lock, for the message to one that waits too long
    full       whether the disk was full, and the space that is kept for deletes is in use (see `reserve`)

A reader that has read up to `reached` has missed nothing, and need not query SQLite: so reads are linearizable between
processes at the cost of comparing a number. With `durable`, opening the storage detects missing commits.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pilotage.errors import StorageBroken, StorageBusy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_MAGIC = b"PILOTLK1"
_STATES = {
    "D": "is waiting for the disk",
    "R": "is running",
    "S": "is sleeping",
    "T": "is stopped",
    "t": "is stopped by a debugger",
    "Z": "has ended, and its parent has not noticed",
}
"""What another process does, by the letter that /proc has for it."""
SIZE = 4096
"""The bytes of the lock and its numbers. Behind them is the space that is kept for deletes."""
_REACHED, _DURABLE, _HOLDER, _FULL = 1, 2, 3, 4  # in words of eight bytes; the magic is word 0
LOCK_TIMEOUT = 4.0
"""Seconds to wait for another process: less than the timeout of a leader's request (5 s), so that its log names the
process."""
_SHORT_TIMEOUT = 0.1  # after a failed wait for the same holder: the next callers fail soon


class LockFile:
    """The open lock file. The lock belongs to the open file, so it also excludes a second storage of this process."""

    _mode = fcntl.LOCK_EX

    def __init__(self, path: str, mode: int) -> None:
        self.path = path
        self._stuck = ""  # why the last wait failed
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
        try:
            with self._locked():
                if self._is_blank():
                    self._make()
            self._check_magic()
            # Words of eight bytes, aligned: other processes see the old number or the new one, never a part of each.
            self._words = memoryview(mmap.mmap(self.descriptor, SIZE)).cast("Q")
        except BaseException:
            os.close(self.descriptor)
            raise

    @property
    def reached(self) -> int:
        return self._words[_REACHED]

    @reached.setter
    def reached(self, revision: int) -> None:
        self._words[_REACHED] = revision

    @property
    def durable(self) -> int:
        return self._words[_DURABLE]

    @durable.setter
    def durable(self, revision: int) -> None:
        self._words[_DURABLE] = revision

    @property
    def full(self) -> bool:
        return self._words[_FULL] != 0

    @full.setter
    def full(self, full: bool) -> None:
        self._words[_FULL] = full

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; wait for it at most `LOCK_TIMEOUT`, then raise StorageBusy."""
        with self._locked():
            self._words[_HOLDER] = os.getpid()
            try:
                yield
            finally:
                self._words[_HOLDER] = 0

    @contextmanager
    def held_if_free(self) -> Iterator[bool]:
        """Hold the lock if it is free; yields whether it is held."""
        if not self._try():
            yield False
            return
        try:
            yield True
        finally:
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)

    def check(self) -> None:
        """Raise StorageBusy if the last wait for the lock failed, and it is still held."""
        # `_stuck` stays until a wait succeeds; a cleared holder shows that the lock was released meanwhile.
        if (stuck := self._stuck) and self._words[_HOLDER]:
            raise StorageBusy(stuck)

    def close(self) -> None:
        os.close(self.descriptor)  # the map is freed with its last reader, which may be on another thread

    def _is_blank(self) -> bool:
        """Whether it is new, incomplete or all zeros: it is never synced, so a power failure can leave zeros."""
        if os.fstat(self.descriptor).st_size < SIZE:
            return True
        return not any(os.pread(self.descriptor, SIZE, 0))

    def _make(self) -> None:
        if os.pwrite(self.descriptor, _MAGIC.ljust(SIZE, b"\0"), 0) < SIZE:
            raise OSError(errno.ENOSPC, "No room", self.path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._wait()
        try:
            yield
        finally:
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)

    def _wait(self) -> None:
        # Polling, because a blocking flock has no time limit, and a stopped process would block this one.
        pause, deadline = 0.0002, time.monotonic() + (_SHORT_TIMEOUT if self._stuck else LOCK_TIMEOUT)
        while not self._try():
            if time.monotonic() > deadline:
                self._give_up()
            time.sleep(pause)
            pause = min(pause * 1.5, 0.005)
        self._stuck = ""

    def _try(self) -> bool:
        try:
            fcntl.flock(self.descriptor, self._mode | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _give_up(self) -> NoReturn:
        # From the file and not from the map, which does not exist yet while `__init__` waits for the lock.
        holder = int.from_bytes(os.pread(self.descriptor, 8, 8 * _HOLDER), "little")
        self._stuck = f"{self.path}: {describe(holder)} has held the lock of the storage for over {LOCK_TIMEOUT:.0f} s"
        raise StorageBusy(self._stuck)

    def _check_magic(self) -> None:
        start = os.pread(self.descriptor, len(_MAGIC), 0)
        if start != _MAGIC:
            raise StorageBroken(
                f"{self.path} is not a lock file of this Pilotage (it begins with {start!r});"
                " if no process uses the storage, remove it; it is created again"
            )


def describe(process: int) -> str:
    """The subject of a sentence, such as `process 4242 (python3), which is waiting for the disk,`."""
    if not process:
        return "another process"
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            head, _, rest = file.read().rpartition(")")
    except OSError:  # not Linux, or a process of another container
        return f"process {process}"
    state = rest.split()[0]
    name = head.partition("(")[2]
    text = f"process {process} ({name}), which {_STATES.get(state, f'is in state {state}')}"
    return f'{text} (continue it with "kill -CONT {process}", or end it),' if state == "T" else f"{text},"
