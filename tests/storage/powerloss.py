"""A disk whose power fails: what SQLite did to its files is recorded, and every state a crash could leave is built.

The model: a write survives if the file was synced after it; otherwise any part of it may, in sectors of 512 bytes,
whatever became of others. Names (made, moved, removed) survive in the order they were changed, up to some point that is
no earlier than the last sync of the folder. The lock file is mapped into memory and never synced: any state that it
ever had, or none, may be what is left.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, Literal
from unittest import mock

import apsw

from pilotage.storage.sqlite import file as sqlite_file
from pilotage.storage.sqlite import lock

SECTOR = 512
_NAMES = ("create", "rename", "unlink")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was done to the disk, or (ack) something that was promised after all before it."""

    kind: Literal["create", "rename", "unlink", "folder", "write", "truncate", "sync", "ack"]
    file: int = 0
    at: int = 0
    """The offset of a write, the size of a truncation, the revision of a promise."""
    data: bytes = b""
    name: str = ""
    new_name: str = ""


Image = dict[str, bytes]
"""The files of a folder."""


class Recorder:
    """Collects the steps of everything that SQLite and we do in one folder."""

    def __init__(self, folder: Path, steps: Sequence[Step] = ()) -> None:
        """Continue after these steps: the folder shows all of them, but not all are safe on the disk."""
        self.steps = list(steps)
        self._folder = folder
        self._files = _names(steps, None)
        self._made = max((step.file for step in steps), default=0)
        self._lock_bytes = b""
        put(_image(steps, _whole, None), folder)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """For the length of the block, SQLite uses a VFS that reports to this recorder."""
        vfs = _Vfs(self)
        rename, sync = os.rename, sqlite_file.sync

        def recorded_rename(old: str, new: str) -> None:
            rename(old, new)
            self.renamed(os.path.basename(old), os.path.basename(new))

        def recorded_sync(path: str) -> None:
            sync(path)
            if Path(path) == self._folder:
                self.add("folder")
            else:
                self.add("sync", os.path.basename(path))

        try:
            with (
                mock.patch.object(os, "rename", recorded_rename),
                mock.patch.object(sqlite_file, "sync", recorded_sync),
            ):
                yield
        finally:
            vfs.unregister()

    def add(self, kind: Any, name: str = "", at: int = 0, data: bytes = b"") -> None:
        self._look_at_lock()
        self.steps.append(Step(kind, self._files.get(name, 0), at, data, name))

    def opened(self, name: str) -> None:
        if name not in self._files:
            self._create(name)

    def renamed(self, old: str, new: str) -> None:
        self._files[new] = self._files.pop(old)
        self.steps.append(Step("rename", self._files[new], name=old, new_name=new))

    def removed(self, name: str) -> None:
        self.add("unlink", name)
        self._files.pop(name, None)

    def _create(self, name: str) -> None:
        self._made += 1
        self._files[name] = self._made
        self.steps.append(Step("create", self._made, name=name))

    def _look_at_lock(self) -> None:
        for path in self._folder.glob("*-lock"):
            with path.open("rb") as file:
                content = file.read(lock.SIZE)  # behind it is space that is kept for deletes, and has no content
            if content == self._lock_bytes:
                continue
            if path.name not in self._files:
                self._create(path.name)
            self._lock_bytes = content
            self.steps.append(Step("write", self._files[path.name], 0, content, path.name))


class _Vfs(apsw.VFS):
    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        super().__init__("recording", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> _File:  # noqa: N802 SQLite's name
        base = os.path.basename(name if isinstance(name, str) else name.filename())
        file = _File(self._recorder, base, name, flags)
        self._recorder.opened(base)
        return file

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 SQLite's name
        super().xDelete(filename, syncdir)
        self._recorder.removed(os.path.basename(filename))
        if syncdir:
            self._recorder.add("folder")


class _File(apsw.VFSFile):
    def __init__(self, recorder: Recorder, base: str, name: Any, flags: list[int]) -> None:
        super().__init__("unix", name, flags)
        self._recorder = recorder
        self._base = base
        # The first sync of a journal or WAL that was just made also syncs the folder (SQLite's UNIXFILE_DIRSYNC).
        self._syncs_folder = base.endswith(("-wal", "-journal"))

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802 SQLite's name
        super().xWrite(data, offset)
        self._recorder.add("write", self._base, offset, bytes(data))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 SQLite's name
        super().xTruncate(newsize)
        self._recorder.add("truncate", self._base, newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802 SQLite's name
        super().xSync(flags)
        self._recorder.add("sync", self._base)
        if self._syncs_folder:
            self._syncs_folder = False
            self._recorder.add("folder")


Survives = Callable[[Step], Sequence[tuple[int, bytes]]]
"""Of a write that was not synced, the parts that are left, each with its offset."""


def images(steps: Sequence[Step], randoms: Sequence[Random]) -> Iterator[tuple[str, Image]]:
    """What a crash after these steps may leave: each image with a name."""
    yield "nothing unsynced", _image(steps, lambda step: (), 0)
    yield "everything", _image(steps, _whole, None)
    last = next((step for step in reversed(steps) if step.kind == "write" and len(step.data) > SECTOR), None)
    if last is not None:
        yield "torn", _image(steps, lambda step: _whole(step) if step is not last else _sectors(step)[:1], None)
    for number, random in enumerate(randoms):
        yield f"random {number}", _image(steps, _some(random), random)


def put(image: Image, folder: Path) -> None:
    """Make a folder with these files."""
    folder.mkdir()
    for name, content in image.items():
        (folder / name).write_bytes(content)


def settled(image: Image) -> list[Step]:
    """The steps that make these files, all of them safe on the disk."""
    steps: list[Step] = []
    for file, (name, content) in enumerate(image.items(), start=1):
        steps += [Step("create", file, name=name), Step("write", file, 0, content, name), Step("sync", file)]
    return [*steps, Step("folder")]


def _whole(step: Step) -> Sequence[tuple[int, bytes]]:
    return [(step.at, step.data)]


def _some(random: Random) -> Survives:
    """Writes survive or not; of some, single sectors do."""

    def survives(step: Step) -> Sequence[tuple[int, bytes]]:
        chance = random.random()
        if chance < 0.4:
            return _whole(step)
        if chance < 0.7:
            return ()
        return [part for part in _sectors(step) if random.random() < 0.5]

    return survives


def _sectors(step: Step) -> list[tuple[int, bytes]]:
    first = SECTOR - step.at % SECTOR
    ends = [0, *range(first, len(step.data), SECTOR), len(step.data)]
    return [(step.at + low, step.data[low:high]) for low, high in pairwise(ends)]


def _image(steps: Sequence[Step], survives: Survives, names: Random | int | None) -> Image:
    """`names` says how many changes of names that were not synced are left: that many, all (None), or any number."""
    synced = {step.file: at for at, step in enumerate(steps) if step.kind == "sync"}
    files: dict[int, bytearray] = {}
    for at, step in enumerate(steps):
        content = files.setdefault(step.file, bytearray())
        durable = at < synced.get(step.file, -1)
        if step.kind == "write":
            for offset, part in _whole(step) if durable else survives(step):
                content.extend(bytes(max(0, offset - len(content))))
                content[offset : offset + len(part)] = part
        elif step.kind == "truncate" and (durable or survives(Step("write", data=b"-"))):
            del content[step.at :]
            content.extend(bytes(step.at - len(content)))
    return {name: bytes(files[file]) for name, file in _names(steps, names).items()}


def _names(steps: Sequence[Step], left: Random | int | None) -> dict[str, int]:
    folder = max((at for at, step in enumerate(steps) if step.kind == "folder"), default=-1)
    changes = [(at, step) for at, step in enumerate(steps) if step.kind in _NAMES]
    certain = sum(1 for at, _ in changes if at < folder)
    if isinstance(left, Random):
        left = left.randint(0, len(changes) - certain)
    until = len(changes) if left is None else certain + left
    found: dict[str, int] = {}
    for _, step in changes[:until]:
        if step.kind == "create":
            found[step.name] = step.file
        elif step.kind == "unlink":
            found.pop(step.name, None)
        else:
            found[step.new_name] = found.pop(step.name)
    return found
