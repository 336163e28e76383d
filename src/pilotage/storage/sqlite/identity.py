"""Whether the files of an open SQLite storage are still those that were opened.

SQLite continues to write to a file that was removed, and the data is lost when the process ends. Where `-shm` was
removed, a process that opens the storage afterwards does not see the others' commits, and overwrites them.
"""

from __future__ import annotations

import os

from pilotage.errors import StorageBroken

_NOTHING = (0, 0)


class OpenFiles:
    """The database, its `-wal` and `-shm`, and the lock file, by device and inode."""

    def __init__(self, database: str, lock: str) -> None:
        self._paths = (database, f"{database}-wal", f"{database}-shm", lock)
        self._identities: tuple[tuple[int, int], ...] = ()

    def remember(self) -> None:
        """Remember the current files. SQLite must have read the database before, which creates two of them."""
        self._identities = tuple(map(_identity, self._paths))

    def missing(self) -> str:
        """The path of a file that was removed or replaced; empty if there is none."""
        for path, identity in zip(self._paths, self._identities, strict=False):
            if _identity(path) != identity:
                return path
        return ""

    def check(self) -> None:
        """Raise StorageBroken if one was removed or replaced."""
        if path := self.missing():
            raise StorageBroken(
                f"{path} was removed or replaced while the storage was open. Nothing more is written, because it would"
                " be lost: put the file back, if you can, and start every process that uses the storage again"
            )


def _identity(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return _NOTHING
    return (found.st_dev, found.st_ino)
