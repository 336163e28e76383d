"""Whether the files of an open SQLite storage are still those that were opened.

SQLite continues to write to a file that was removed, and the data is lost when the process ends. Where `-shm` was
removed, a process that opens the storage afterwards does not see the others' commits, and overwrites them. SQLite
maps `-shm` into memory: where it is shorter than it was, the next access ends the process with SIGBUS.
"""

from __future__ import annotations

import os

from pilotage.errors import StorageBroken

_NOTHING = (0, 0, 0)


class OpenFiles:
    """The database, its `-wal` and `-shm`, and the lock file, by device and inode; and the size of `-shm`."""

    def __init__(self, database: str, lock: str) -> None:
        self._shared, self._size = f"{database}-shm", 0
        self._shared_now = _NOTHING
        self._paths = (database, f"{database}-wal", self._shared, lock)
        self._identities: tuple[tuple[int, int], ...] = ()

    def remember(self) -> None:
        """Remember the current files. SQLite must have read the database before, which creates two of them."""
        self._identities = tuple(_identity(path)[:2] for path in self._paths)
        self._size = _identity(self._shared)[2]

    def check(self) -> None:
        """Raise StorageBroken if one was removed, replaced or cut."""
        if path := self._replaced():
            raise _broken(f"{path} was removed or replaced")
        if path := self._cut(self._shared_now):
            raise _broken(f"{path} was cut")

    def check_shared(self) -> None:
        """Raise StorageBroken if `-shm` was cut: a read of it would end the process, too."""
        if path := self._cut(_identity(self._shared)):
            raise _broken(f"{path} was cut")

    def missing(self) -> str:
        """The path of a file that was removed, replaced or cut; empty if there is none."""
        return self._replaced() or self._cut(self._shared_now)

    def _replaced(self) -> str:
        for path, identity in zip(self._paths, self._identities, strict=False):
            found = _identity(path)
            if found[:2] != identity:
                return path
            if path is self._shared:
                self._shared_now = found
        return ""

    def _cut(self, shared: tuple[int, int, int]) -> str:
        size = shared[2]
        if size < self._size and shared != _NOTHING:  # one that was removed stays as it is for those who have it open
            return self._shared
        self._size = max(size, self._size)
        return ""


def _broken(what: str) -> StorageBroken:
    return StorageBroken(
        f"{what} while the storage was open. Nothing more is written, because it would be lost: put the file back, if "
        "you can, and start every process that uses the storage again"
    )


def _identity(path: str) -> tuple[int, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return _NOTHING
    return (found.st_dev, found.st_ino, found.st_size)
