from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import pilotage as pt
from pilotage.controller.request import Request
from pilotage.controller.sources import filesource
from pilotage.controller.sources.filesource import FileChange, FileSource
from pilotage.workqueue import WorkQueue

pytestmark = pytest.mark.virtual_time


class Watching:
    """A started file source, and the changes that it reports."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.heard: list[tuple[str, str]] = []
        self.queue: WorkQueue[Request] = WorkQueue()
        self.source = FileSource(path, self.requests, interval=2.0)

    def requests(self, change: FileChange) -> Iterator[Request]:
        self.heard.append((change.type, os.path.relpath(change.path, self.path)))
        yield Request(change.path.name)

    async def after_a_look(self) -> list[tuple[str, str]]:
        await asyncio.sleep(2.5)
        heard, self.heard = self.heard, []
        return heard


async def test_files_of_a_folder_are_reported_as_they_come_change_and_go(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    watching = Watching(tmp_path)
    async with asyncio.TaskGroup() as tasks:
        await watching.source.start(watching.queue, tasks)
        assert watching.heard == [("create", "a")]  # at once
        watching.heard.clear()
        assert await watching.after_a_look() == []
        (tmp_path / "a").write_text("23")
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "b").write_text("1")
        assert await watching.after_a_look() == [("update", "a"), ("create", "folder/b")]
        (tmp_path / "a").unlink()
        os.utime(tmp_path / "folder" / "b", (1, 1))  # the same size
        assert await watching.after_a_look() == [("delete", "a"), ("update", "folder/b")]
        assert len(watching.queue) == 2
        _end(tasks)


async def test_one_file_may_come_later_and_be_replaced(tmp_path: Path) -> None:
    file, other = tmp_path / "settings", tmp_path / "other"
    watching = Watching(file)
    async with asyncio.TaskGroup() as tasks:
        await watching.source.start(watching.queue, tasks)
        assert watching.heard == []
        file.write_text("1")
        os.utime(file, (1, 1))
        assert await watching.after_a_look() == [("create", ".")]
        other.write_text("2")
        os.utime(other, (1, 1))  # the same time and size: only the inode differs
        other.replace(file)
        assert await watching.after_a_look() == [("update", ".")]
        _end(tasks)


async def test_a_mounted_config_map_that_is_replaced_reports_its_files(tmp_path: Path) -> None:
    """The kubelet writes a folder for each version, and moves a link."""
    for version in ("..one", "..two"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "key").write_text(version)
    (tmp_path / "..data").symlink_to("..one")
    (tmp_path / "key").symlink_to("..data/key")
    watching = Watching(tmp_path)
    async with asyncio.TaskGroup() as tasks:
        await watching.source.start(watching.queue, tasks)
        assert watching.heard == [("create", "key")]
        watching.heard.clear()
        (tmp_path / "..new").symlink_to("..two")
        (tmp_path / "..new").replace(tmp_path / "..data")
        assert await watching.after_a_look() == [("update", "key")]
        _end(tasks)


async def test_a_function_that_fails_is_called_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a").write_text("1")
    calls: list[str] = []

    def requests(change: FileChange) -> list[Request]:
        calls.append(change.type)
        if len(calls) < 3:
            raise RuntimeError("not yet")
        return [Request("a")]

    queue: WorkQueue[Request] = WorkQueue()
    async with asyncio.TaskGroup() as tasks:
        await FileSource(tmp_path, requests).start(queue, tasks)
        await asyncio.sleep(10)
        assert calls == ["create"] * 3
        assert len(queue) == 1
        _end(tasks)
    assert len([one for one in caplog.records if one.levelno == logging.ERROR]) == 2


async def test_a_folder_with_too_many_files_is_cut_and_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filesource, "MAX_FILES", 3)
    for name in "abcde":
        (tmp_path / name).write_text("1")
    watching = Watching(tmp_path)
    async with asyncio.TaskGroup() as tasks:
        await watching.source.start(watching.queue, tasks)
        await asyncio.sleep(10)
        assert [name for _, name in watching.heard] == ["a", "b", "c"]
        _end(tasks)
    assert len(caplog.records) == 1


async def test_a_controller_reconciles_a_request_for_a_file(tmp_path: Path) -> None:
    seen: list[str] = []
    (tmp_path / "a").write_text("1")
    async with pt.Manager(pt.Cluster.embedded()) as manager:

        async def reconcile(request: pt.Request) -> None:
            seen.append(request.name)

        source = pt.FileSource(tmp_path / "a", pt.Request("settings"))
        pt.ControllerBuilder(manager).named("files").watches_raw_source(source).complete(reconcile)
        await manager.run_until_idle()
        (tmp_path / "a").write_text("22")
        await asyncio.sleep(2)
        await manager.run_until_idle()
    assert seen == ["settings", "settings"]


def test_files_are_looked_at_in_a_thread_so_that_a_slow_file_system_does_not_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("1")
    threads: list[int] = []
    scan = FileSource._scan

    def noting(self: FileSource) -> object:
        threads.append(threading.get_ident())
        return scan(self)

    monkeypatch.setattr(FileSource, "_scan", noting)

    async def start() -> int:
        queue: WorkQueue[Request] = WorkQueue()
        async with asyncio.TaskGroup() as tasks:
            await FileSource(tmp_path, Request("a")).start(queue, tasks)
            _end(tasks)
        return len(queue)

    assert asyncio.run(start()) == 1  # on a loop whose time is real
    assert threads
    assert threading.get_ident() not in threads


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(pt.InvalidDefinition, match=r"interval=.*more than 0"):
        FileSource(tmp_path, Request("a"), interval=0)
    with pytest.raises(pt.InvalidDefinition, match="needs a request, or a function"):
        FileSource(tmp_path, "a")  # type: ignore[arg-type]


def _end(tasks: asyncio.TaskGroup) -> None:
    for task in tasks._tasks:
        task.cancel()
