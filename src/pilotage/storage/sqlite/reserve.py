"""Disk space that is reserved for deletes, so that objects can be deleted on a full disk: blocks behind the lock of the
lock file.

On a full disk, commits that create or update are refused. Deletes, compaction and shrinking release the reserve and
use its blocks, until there is space on the disk and the reserve is allocated again. While it is not complete, all
processes refuse what does not free space, because it would use up the blocks that were released for deletes.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from pilotage.errors import StorageFull

from .errors import used_up
from .lock import SIZE, LockFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

LEAST_BYTES = 1 << 20
MOST_BYTES = 8 << 20
_FEWEST_BYTES = 256 << 10  # on the smallest disks
_PARTS = 4
_UNSUPPORTED = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


class Reserve:
    """The blocks that this and all other processes keep. All methods but `lend` need the lock."""

    def __init__(self, database: str, lock: LockFile) -> None:
        self._database = database
        self._lock = lock

    @property
    def bytes(self) -> int:
        """The bytes that are allocated now."""
        return max(0, os.fstat(self._lock.descriptor).st_size - SIZE)

    def keep(self) -> bool:
        """Allocate the missing part. Returns whether the reserve is complete; on a disk that was full, with a quarter
        more free.

        If the disk has less, all of that is allocated: other programs would take it.
        """
        wanted, kept = self._wanted(), self.bytes
        # More than is needed, once it was full: else the next commit fills the disk again, and the state alternates.
        spare = wanted // _PARTS if self._lock.full else 0
        if kept >= wanted and not spare:
            return True
        self._lock.full = not self._resize(wanted + spare)
        if self._lock.full:
            disk = os.fstatvfs(self._lock.descriptor)
            self._resize(min(wanted, kept + disk.f_bavail * disk.f_frsize))
        elif spare:
            os.ftruncate(self._lock.descriptor, SIZE + max(wanted, kept))
        return not self._lock.full

    def _resize(self, size: int) -> bool:
        """Allocate `size` bytes in total, or change nothing. True also if a limit of file sizes prevents it: other
        files may grow."""
        kept = self.bytes
        try:
            _allocate(self._lock.descriptor, SIZE + size)
        except OSError as error:
            # posix_fallocate may have assigned some blocks before it failed.
            os.ftruncate(self._lock.descriptor, SIZE + kept)
            return error.errno == errno.EFBIG
        return True

    def release(self, *, all_parts: bool = True) -> bool:
        """Release a part of the blocks. False if none are left, or, without `all_parts`, only the last part."""
        kept = self.bytes
        part = max(self._wanted(), kept) // _PARTS
        self._lock.full = True
        if kept <= (0 if all_parts else part):
            return False
        os.ftruncate(self._lock.descriptor, SIZE + max(0, kept - part))
        return True

    def lend(self, change: Callable[[], T], *, all_parts: bool = True) -> T:
        """Make a change that frees space, or that opens the storage. On a full disk, release blocks until it succeeds.

        Raises StorageFull when none are left.
        """
        while True:
            try:
                return change()
            except StorageFull as error:
                with self._lock.held():
                    if not self.release(all_parts=all_parts):
                        raise used_up(self._database) from error

    def _wanted(self) -> int:
        """A quarter of the database, but not much of a small disk."""
        disk = os.fstatvfs(self._lock.descriptor)
        try:
            database = os.stat(self._database).st_size
        except OSError:  # it was removed, which the check of the files reports
            database = 0
        wanted = min(max(LEAST_BYTES, database // 4), MOST_BYTES)
        return max(min(wanted, disk.f_blocks * disk.f_frsize // 8), _FEWEST_BYTES)


def _allocate(descriptor: int, size: int) -> None:
    """Have the file system assign blocks to a file up to this size."""
    try:
        os.posix_fallocate(descriptor, 0, size)
        return
    except AttributeError:  # not on macOS
        pass
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    at = os.fstat(descriptor).st_size
    while at < size:
        at += os.pwrite(descriptor, bytes(min(size - at, 1 << 16)), at)
