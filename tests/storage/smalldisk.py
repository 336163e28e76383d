"""A disk with a given number of bytes, for the files of one folder: writes that do not fit fail as on a full disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import apsw

from pilotage.storage.sqlite import reserve

_BLOCK = 4096


class SmallDisk:
    """The disk, and another program that fills it."""

    def __init__(self, folder: Path, size: int) -> None:
        self.folder = folder
        self.size = size
        self._others = 0

    @property
    def free(self) -> int:
        used = sum(path.stat().st_size for path in self.folder.iterdir())
        return max(0, self.size - used - self._others)

    def fill(self) -> None:
        """Another program writes until no byte is free."""
        self._others += self.free

    def empty(self) -> None:
        """The other program removes what it wrote."""
        self._others = 0

    @contextmanager
    def mounted(self) -> Iterator[None]:
        """For the length of the block, SQLite and the reserve use this disk."""
        vfs = _Vfs(self)
        try:
            with (
                mock.patch.object(reserve, "_allocate", self._allocate),
                mock.patch.object(os, "fstatvfs", self._status),
            ):
                yield
        finally:
            vfs.unregister()

    def _allocate(self, descriptor: int, size: int) -> None:
        if size - os.fstat(descriptor).st_size > self.free:
            raise OSError(errno.ENOSPC, "No space left on device")
        if size > os.fstat(descriptor).st_size:
            os.ftruncate(descriptor, size)

    def _status(self, descriptor: int) -> Any:
        return SimpleNamespace(f_blocks=self.size // _BLOCK, f_bavail=self.free // _BLOCK, f_frsize=_BLOCK)


class _Vfs(apsw.VFS):
    def __init__(self, disk: SmallDisk) -> None:
        self._disk = disk
        super().__init__("small", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> _File:  # noqa: N802 SQLite's name
        return _File(self._disk, name, flags)


class _File(apsw.VFSFile):
    def __init__(self, disk: SmallDisk, name: Any, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._disk = disk

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802 SQLite's name
        if offset + len(data) - self.xFileSize() > self._disk.free:
            raise apsw.FullError("the small disk is full")
        super().xWrite(data, offset)
