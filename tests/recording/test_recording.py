"""A history in a file: the same stories as in the program, within its size, for its user alone."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

import pilotage as pt
from pilotage.history import HistoryOptions
from pilotage.recording import NewerRecording, NoRecording, RecordingError, read
from pilotage.recording.file import RecordingFile
from pilotage.recording.frames import HEADER_SIZE
from pilotage.types.core.v1 import Secret

from .programs import Greeting, GreetingSpec, SecretReconciler, greet, record

MEBIBYTE = 2**20


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.rec"


def test_a_recording_has_the_stories_of_the_program(path: Path) -> None:
    live = record(path)
    found = read(str(path))
    assert len(live) > 6
    assert [*found] == live
    assert [str(run) for run in found] == [str(run) for run in live]
    assert found[-1] == live[-1]
    assert found[1:3] == live[1:3]
    assert found.reconciles(Greeting, "b", namespace="default") == [run for run in live if run.name == "b"]


def test_a_file_that_is_full_has_the_newest_reconciles(path: Path) -> None:
    async def act(manager: pt.Manager) -> None:
        client = manager.cluster.client.with_namespace("default")
        await client.create(Greeting(metadata=pt.ObjectMeta(name="a")))
        for number in range(60):
            await client.patch(Greeting, {"spec": {"text": f"{number}" + "x" * 20_000}}, name="a")
            await manager.run_until_idle()

    live = record(path, act=act, max_file_bytes=MEBIBYTE, max_bytes=100 * MEBIBYTE)
    found = [*read(str(path))]
    assert path.stat().st_size <= MEBIBYTE
    assert 5 < len(found) < len(live)
    assert found == live[-len(found) :]


def test_the_file_is_for_its_user_alone(path: Path) -> None:
    path.touch(0o666)
    path.chmod(0o666)
    record(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_next_start_continues_a_recording(path: Path) -> None:
    first, second = record(path), record(path)
    found = read(str(path))
    assert [*found] == first + second
    assert [len(session.runs) for session in found.sessions] == [len(first), len(second)]


def test_a_recording_of_another_size_begins_again(path: Path) -> None:
    record(path)
    live = record(path, max_file_bytes=3 * MEBIBYTE)
    assert [*read(str(path))] == live
    assert path.stat().st_size <= 3 * MEBIBYTE


@pytest.mark.parametrize("content", [b"notes of mine", b"pilotage recording x", b"pilotage recording 1 5\n"])
def test_another_file_is_left_alone(path: Path, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    path.write_bytes(content)
    assert len(record(path)) > 6  # the program goes on
    assert "Nothing is recorded" in caplog.text
    assert path.read_bytes() == content
    with pytest.raises(NoRecording, match="is not a recording of Pilotage"):
        read(str(path))


def test_a_newer_format_is_refused(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_bytes(b"pilotage recording 2 1000\n" + bytes(5000))
    record(path)
    assert "Nothing is recorded" in caplog.text
    with pytest.raises(NewerRecording, match="has version 2 of the format of recordings, and this Pilotage reads"):
        read(str(path))


def test_a_file_that_does_not_exist_is_named(path: Path) -> None:
    with pytest.raises(RecordingError, match=r"cannot read the recording .*history\.rec: No such file"):
        read(str(path))


def test_a_symbolic_link_of_another_user_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "target")
    owner = mock.Mock(st_uid=os.geteuid() + 1)
    with mock.patch.object(os, "lstat", return_value=owner), pytest.raises(OSError, match="symbolic"):
        RecordingFile(str(path), MEBIBYTE)
    assert not (tmp_path / "target").exists()
    RecordingFile(str(path), MEBIBYTE).close()  # a link of one's own is


def test_two_processes_do_not_write_to_one_file(path: Path) -> None:
    first = RecordingFile(str(path), MEBIBYTE)
    with pytest.raises(RecordingError, match="another process records to"):
        RecordingFile(str(path), MEBIBYTE)
    first.close()


def test_a_disk_that_is_full_at_the_start_is_logged(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def reserve(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with mock.patch.object(os, "posix_fallocate", reserve, create=True):
        assert len(record(path)) > 6
    assert caplog.text.count("Nothing is recorded") == 1
    assert "No space left on device" in caplog.text


def test_a_file_system_that_cannot_reserve_is_recorded_to(path: Path) -> None:
    with mock.patch.object(os, "posix_fallocate", side_effect=OSError(95, "Operation not supported"), create=True):
        live = record(path)
    assert [*read(str(path))] == live


def test_a_disk_that_fails_later_stops_the_recording_with_one_warning(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    real, left = os.pwrite, 40

    def pwrite(descriptor: int, data: bytes, offset: int) -> int:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(5, "Input/output error")
        return real(descriptor, data, offset)

    with mock.patch.object(os, "pwrite", pwrite):
        live = record(path)
    assert caplog.text.count("The recording has stopped") == 1
    found = [*read(str(path))]
    assert found[:-1] == live[: len(found) - 1]
    assert 1 < len(found) < len(live)


def test_what_was_written_in_part_is_left_out(path: Path) -> None:
    live = record(path)
    data = bytearray(path.read_bytes())
    end = len(data.rstrip(b"\0"))
    data[end - 3 : end] = b"\0\0\0"
    path.write_bytes(data)
    found = [*read(str(path))]
    assert found[:-1] == live[:-1]
    assert found[-1].result == "running"  # its end is missing


def test_secret_values_are_hashes_in_the_file(path: Path) -> None:
    async def act(manager: pt.Manager) -> None:
        client = manager.cluster.client.with_namespace("default")
        await client.create(Secret(metadata=pt.ObjectMeta(name="password"), data={"password": "Y29ycmVjdCBob3JzZQ=="}))
        await client.create(Greeting(metadata=pt.ObjectMeta(name="a"), spec=GreetingSpec(text="hidden text")))
        await manager.run_until_idle()

    def setup(manager: pt.Manager) -> None:
        SecretReconciler(manager).setup_with_manager(manager)

    record(path, setup, act, secret_fields=["spec.text"])
    data = path.read_bytes()
    assert b"Y29ycmVjdCBob3JzZQ" not in data
    assert b"hidden text" not in data
    (session,) = read(str(path)).sessions
    assert not session.has_secrets
    assert session.runs[0].hidden
    write = session.history.reconciles()[0].writes[0]
    assert [change.new[:5] for change in write.changes if change.path == "data.copy"] == ["hash "]


def test_secret_values_are_kept_on_request(path: Path) -> None:
    async def act(manager: pt.Manager) -> None:
        client = manager.cluster.client.with_namespace("default")
        await client.create(Secret(metadata=pt.ObjectMeta(name="password"), data={"password": "Y29ycmVjdCBob3JzZQ=="}))
        await client.create(Greeting(metadata=pt.ObjectMeta(name="a")))
        await manager.run_until_idle()

    live = record(path, lambda manager: SecretReconciler(manager).setup_with_manager(manager), act, record_secrets=True)
    assert b"Y29ycmVjdCBob3JzZQ" in path.read_bytes()
    assert [*read(str(path))] == live  # which shows hashes all the same


def test_random_numbers_outside_of_reconciles_are_as_ever(path: Path) -> None:
    import random

    async def act(manager: pt.Manager) -> None:
        random.seed(7)
        found = [random.random(), random.getrandbits(40), random.choice(range(1000))]
        expected = random.Random(7)
        assert found == [expected.random(), expected.getrandbits(40), expected.choice(range(1000))]

    record(path, act=act)
    assert type(random._inst) is random.Random
    random.seed()


_KILLED = """
import asyncio, os, signal, sys
import pilotage as pt
from pilotage.history import HistoryOptions
from pilotage.types.core.v1 import ConfigMap

async def reconcile(request):
    found = await manager.client.get(ConfigMap, request)
    await manager.client.patch(found, {"data": {"text": "bye"}})
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    global manager
    options = pt.ManagerOptions(history=HistoryOptions(file=sys.argv[1], max_file_bytes=2**20))
    async with pt.Manager(pt.Cluster.embedded(), options) as manager:
        await manager.cluster.client.create(ConfigMap(metadata=pt.ObjectMeta(name="a", namespace="default")))
        pt.ControllerBuilder(manager).for_(ConfigMap).complete(reconcile)
        await manager.run_until_idle()

asyncio.run(main())
"""


def test_a_reconcile_in_which_the_process_is_killed_is_in_the_file(path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", _KILLED, str(path)], check=False)
    assert ran.returncode == -signal.SIGKILL
    (found,) = read(str(path))
    assert found.result == "running"
    assert [cause.type for cause in found.causes] == ["initial"]
    assert [(read.title, read.found) for read in found.reads] == [("ConfigMap default/a", True)]
    assert [str(change) for write in found.writes for change in write.changes] == ["data.text: (none) → 'bye'"]


def test_a_recording_can_be_read_while_it_is_written(path: Path) -> None:
    seen: list[int] = []

    async def act(manager: pt.Manager) -> None:
        await greet(manager)
        seen.append(len(read(str(path))))

    assert [len(record(path, act=act))] == seen


def test_options_without_a_history_record_nothing(path: Path) -> None:
    record(path, enabled=False)
    assert not path.exists()


def test_the_size_of_the_file_has_a_least_value() -> None:
    with pytest.raises(pt.PilotageError, match="max_file_bytes"):
        HistoryOptions(max_file_bytes=HEADER_SIZE)
