"""A source of requests from files: a file, or the files of a folder, checked at an interval."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pilotage.cache.event import ChangeType
from pilotage.controller.request import Request
from pilotage.controller.sources.sources import Source
from pilotage.errors import InvalidDefinition
from pilotage.manager.supervision.supervisor import has_threads
from pilotage.meta.bounds.amounts import Seconds, seconds
from pilotage.telemetry.logs import logger
from pilotage.workqueue import WorkQueue

MAX_FILES = 10_000
"""How many files of a folder are checked; further ones are ignored, and logged."""

log = logger("pilotage.controller")

Signature = tuple[int, int, int]
"""What changes with a file: its modification time, its size and its inode."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that was found, changed or deleted."""

    type: ChangeType
    path: Path
    is_in_initial_list: bool = False
    """Whether the file existed when the source started."""


class FileSource(Source):
    """Requests when files change: `FileSource("/etc/shop", lambda change: [Request("settings", "shop")])`.

    `path` is a file or a folder, whose files in all subfolders count; it need not exist yet. `requests` is a request,
    or a function from a FileChange to requests. Files that exist at the start are reported as created. They are checked
    every `interval`, which works on every file system. A mounted ConfigMap or Secret is a folder that is
    replaced as a whole: all of its files may be reported at once.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        requests: Request | Callable[[FileChange], Iterable[Request]],
        *,
        interval: Seconds = 1.0,
    ) -> None:
        if not isinstance(requests, Request) and not callable(requests):
            raise InvalidDefinition(f"a FileSource needs a request, or a function from a FileChange, not {requests!r}")
        self._path = Path(path)
        self._requests = requests
        self._interval = seconds(interval, "interval", zero=False)
        self._known: Mapping[Path, Signature] = {}
        self._retried: list[FileChange] = []
        self._cut = False

    async def start(self, queue: WorkQueue[Request], tasks: asyncio.TaskGroup) -> None:
        await self._look(queue, initial=True)
        tasks.create_task(self._run(queue), name=str(self))

    async def _run(self, queue: WorkQueue[Request]) -> None:
        while True:
            await asyncio.sleep(self._interval)
            await self._look(queue)

    async def _look(self, queue: WorkQueue[Request], *, initial: bool = False) -> None:
        # In a thread: a folder may be large, and its file system slow. A loop with virtual time has no threads.
        threads = has_threads(asyncio.get_running_loop())
        found = await asyncio.to_thread(self._scan) if threads else self._scan()
        due = [*self._retried, *changes(self._known, found, initial=initial)]
        self._known, self._retried = found, []
        for change in due:
            try:
                for request in (self._requests,) if isinstance(self._requests, Request) else self._requests(change):
                    queue.add(request)
            except Exception:
                log.exception("The function of a file source failed, retrying", source=str(self), path=str(change.path))
                self._retried.append(change)

    def _scan(self) -> Mapping[Path, Signature]:
        found: dict[Path, Signature] = {}
        cut = False
        for path in files(self._path):
            cut = len(found) >= MAX_FILES
            if cut:
                break
            if (signature := _signature(path)) is not None:
                found[path] = signature
        if cut and not self._cut:
            log.error("Folder has too many files, some are not watched", source=str(self), limit=MAX_FILES)
        self._cut = cut
        return found

    def __str__(self) -> str:
        return f"file source: {self._path}"


def files(path: Path) -> Iterator[Path]:
    """A file, or the files below a folder in the order of their names."""
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path):
        # The folders of a mounted ConfigMap that hold its versions: its files are links into the current one.
        folders[:] = sorted(name for name in folders if not name.startswith(".."))
        yield from (Path(folder, name) for name in sorted(names) if not name.startswith(".."))


def changes(
    before: Mapping[Path, Signature], after: Mapping[Path, Signature], *, initial: bool = False
) -> Iterator[FileChange]:
    """What has changed between two checks: deleted files first."""
    for path in before:
        if path not in after:
            yield FileChange("delete", path)
    for path, signature in after.items():
        if path not in before:
            yield FileChange("create", path, initial)
        elif before[path] != signature:
            yield FileChange("update", path)


def _signature(path: Path) -> Signature | None:
    try:
        found = path.stat()
    except OSError:
        return None  # it does not exist, or no longer
    return found.st_mtime_ns, found.st_size, found.st_ino
