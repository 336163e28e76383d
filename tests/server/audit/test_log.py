"""The file of the audit log: rotated, bounded, and not in the way of the server."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pilotage.server.audit import log as module
from pilotage.server.audit.log import AuditLog, AuditLogOptions, SharedAuditLog


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


class SmallDisk:
    """A disk with space for so many bytes: what is written beyond that is cut, and then refused."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, space: int) -> None:
        self.space = space
        self._write = os.write
        monkeypatch.setattr("os.write", self.write)

    def write(self, descriptor: int, data: bytes) -> int:
        if not self.space:
            raise OSError(28, "No space left on device")
        written = self._write(descriptor, data[: self.space])
        self.space -= written
        return written


def test_lines_are_appended_in_their_order_and_are_there_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "below" / "audit.log"
    for text in (b"one", b"two"):
        with AuditLog(AuditLogOptions(str(path))) as log:
            log.write(text)
    assert path.read_bytes() == b"one\ntwo\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_too_large_is_rotated_and_the_oldest_are_deleted(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    (tmp_path / "audit-notes.log").write_text("of another program")
    with AuditLog(AuditLogOptions(str(path), max_size=10, max_backups=2), Clock()) as log:
        for number in range(8):
            log.write(b"line%d" % number)
    assert path.read_bytes() == b"line7\n"
    names = sorted(each.name for each in tmp_path.iterdir())
    assert names == [
        "audit-2026-01-02T03-04-11.678.log",
        "audit-2026-01-02T03-04-12.678.log",
        "audit-notes.log",
        path.name,
    ]
    assert (tmp_path / names[1]).read_bytes() == b"line6\n"


def test_a_line_that_is_larger_than_a_file_has_a_file_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    with AuditLog(AuditLogOptions(str(path), max_size=4)) as log:
        log.write(b"x" * 100)
    assert path.stat().st_size == 101
    assert len(list(tmp_path.iterdir())) == 1


def test_a_full_disk_is_reported_once_and_the_log_goes_on_when_there_is_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tried, full = threading.Semaphore(0), True
    write = module._File.write

    def refuse(self: module._File, lines: list[bytes]) -> None:
        try:
            if full:
                raise OSError(28, "No space left on device")
            write(self, lines)
        finally:
            tried.release()

    monkeypatch.setattr(module._File, "write", refuse)
    path = tmp_path / "audit.log"
    with caplog.at_level(logging.ERROR), AuditLog(AuditLogOptions(str(path))) as log:
        for number in range(3):
            log.write(b"lost%d" % number)
            assert tried.acquire(timeout=60)
        full = False
        log.write(b"written")
        assert tried.acquire(timeout=60)
    assert (path.read_bytes(), log.dropped) == (b"written\n", 3)
    assert len(caplog.records) == 1
    assert "Audit events are lost" in caplog.text


def test_a_disk_that_gets_full_leaves_whole_lines_counts_the_others_and_rotates_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "audit.log"
    disk = SmallDisk(monkeypatch, 15)
    lines = [b"line%d" % number for number in range(4)]
    file = module._File(path, AuditLogOptions(str(path), max_size=12, max_backups=1), Clock())
    for _ in range(3):
        with pytest.raises(OSError, match="No space"):
            file.write(lines)
    backup, _ = sorted(tmp_path.iterdir())
    assert (backup.read_bytes(), path.read_bytes(), lines) == (b"line0\nline1\n", b"", [b"line2", b"line3"])
    disk.space = 100
    file.write(lines)
    file.close()
    assert (backup.read_bytes(), path.read_bytes(), lines) == (b"line0\nline1\n", b"line2\nline3\n", [])


def test_a_part_of_a_line_is_removed_from_a_file_that_was_emptied_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As logrotate does with `copytruncate`."""
    path = tmp_path / "audit.log"
    file = module._File(path, AuditLogOptions(str(path)), Clock())
    file.write([b"line0"])
    os.truncate(path, 0)
    SmallDisk(monkeypatch, 2)
    with pytest.raises(OSError, match="No space"):
        file.write([b"line1"])
    file.close()
    assert path.read_bytes() == b""


def test_events_that_wait_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release, entered = threading.Event(), threading.Event()
    write = module._File.write

    def slow(self: module._File, lines: list[bytes]) -> None:
        entered.set()
        assert release.wait(60)
        write(self, lines)

    monkeypatch.setattr(module._File, "write", slow)
    path = tmp_path / "audit.log"
    with AuditLog(AuditLogOptions(str(path), waiting_bytes=20)) as log:
        log.write(b"first")
        assert entered.wait(60)
        for _ in range(10):
            log.write(b"12345")
        assert log.dropped == 6
        release.set()
    assert path.read_bytes().count(b"\n") == 5


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="directory"), AuditLog(AuditLogOptions(str(tmp_path))):
        pass


def test_lines_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    program = (
        "import sys\nfrom pilotage.server.audit.log import SharedAuditLog\nlog = SharedAuditLog(sys.argv[1])\n"
        "for _ in range(50): log.write(sys.argv[2].encode() * 20_000)\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, str(path), letter]) for letter in "abc"]
    assert [each.wait(60) for each in running] == [0] * 3
    lines = path.read_bytes().splitlines()
    assert sorted(lines) == sorted(letter * 20_000 for letter in (b"a", b"b", b"c") for _ in range(50))


def test_a_shared_log_on_a_full_disk_loses_events_and_not_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log = SharedAuditLog(str(tmp_path / "audit.log"))
    monkeypatch.setattr("os.write", lambda descriptor, data: 1)
    with caplog.at_level(logging.ERROR):
        log.write(b"one")
        log.write(b"two")
    assert (log.dropped, caplog.text.count("Audit events are lost")) == (2, 1)
    log.close()


def test_a_part_of_a_line_in_a_shared_log_does_not_spoil_the_next_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = SharedAuditLog(str(tmp_path / "audit.log"))
    disk = SmallDisk(monkeypatch, 2)
    log.write(b"lost")
    log.write(b"lost")
    disk.space = 100
    log.write(b"one")
    log.write(b"two")
    log.close()
    assert (tmp_path / "audit.log").read_bytes() == b"lo\none\ntwo\n"
    assert log.dropped == 2


def test_a_closed_log_writes_to_no_other_file(tmp_path: Path) -> None:
    log = SharedAuditLog(str(tmp_path / "audit.log"))
    log.close()
    others = [(tmp_path / str(number)).open("wb") for number in range(5)]  # one has the descriptor of the log now
    log.write(b"late")
    for other in others:
        other.close()
    assert {path.read_bytes() for path in tmp_path.iterdir()} == {b""}
    assert log.dropped == 1
