"""The socket of a server: its mode, its lock, its replacement, and races with other processes."""

from __future__ import annotations

import errno
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pilotage import device
from pilotage.device.socket import LONGEST, SocketUnavailable, listen
from pilotage.errors import ConnectionLost

from .strangers import NOBODY, as_root, connect_as, public_folder, run_as

__all__ = ["public_folder"]

SERVER = """
import sys, signal
from pilotage.device.socket import listen
with listen(sys.argv[1]):
    print("listening", flush=True)
    signal.pause()
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def is_live(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def server(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that listens at the path."""
    with subprocess.Popen([sys.executable, "-c", SERVER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "listening\n"
            yield process
        finally:
            process.kill()


def leave_socket(path: Path) -> None:
    """What a server leaves that was killed."""
    with socket.socket(socket.AF_UNIX) as abandoned:
        abandoned.bind(str(path))


def refusal(path: Path | str) -> str:
    with pytest.raises(SocketUnavailable) as raised, listen(str(path)):
        pass
    return str(raised.value)


@pytest.mark.covers("D11")
@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_modes_are_what_was_asked_for_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    path = tmp_path / "run" / "device-api.sock"
    with umask(mask):
        with listen(str(path)):
            assert (mode(path), mode(path.parent), mode(tmp_path / "run" / "device-api.sock.lock")) == (
                0o660,
                0o750,
                0o600,
            )
        assert os.umask(mask) == mask


@pytest.mark.covers("S9")
def test_no_other_user_can_open_the_socket_before_its_mode_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[list[str], int]] = []
    change = os.chmod

    def recorded(path: str, wanted: int) -> None:
        seen.append((sorted(entry.name for entry in tmp_path.iterdir()), mode(Path(path))))
        change(path, wanted)

    monkeypatch.setattr(os, "chmod", recorded)
    with umask(0), listen(str(tmp_path / "device-api.sock"), mode=0o666):
        pass
    assert seen == [(["device-api.sock.lock", "device-api.sock~"], 0o600)]


def test_it_takes_connections_from_the_moment_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "device-api.sock"
    rename, live = os.rename, []

    def renamed(old: str, new: str) -> None:
        live.append(is_live(Path(old)))
        rename(old, new)

    monkeypatch.setattr(os, "rename", renamed)
    with listen(str(path)) as listening:
        assert live == [True]
        assert is_live(path)
        listening.accept()[0].close()


@pytest.mark.covers("D11")
def test_the_socket_is_gone_at_the_end_and_the_lock_file_stays(tmp_path: Path) -> None:
    with listen(str(tmp_path / "device-api.sock")):
        pass
    assert [entry.name for entry in tmp_path.iterdir()] == ["device-api.sock.lock"]
    with listen(str(tmp_path / "device-api.sock")):
        assert (tmp_path / "device-api.sock.lock").read_text() == f"{os.getpid()}\n"


def test_the_socket_is_gone_after_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="of the user's own"), listen(str(tmp_path / "device-api.sock")):
        raise OSError(errno.EIO, "of the user's own")
    assert not (tmp_path / "device-api.sock").exists()


def test_a_socket_that_took_the_place_of_ours_is_left_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    with listen(str(path)):
        path.unlink()
        leave_socket(path)
    assert path.is_socket()


def test_a_socket_that_cannot_be_finished_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted", "somewhere")

    monkeypatch.setattr(os, "chown", failing)
    with pytest.raises(SocketUnavailable, match="Operation not permitted"), listen(str(tmp_path / "s"), group=5000):
        pass
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.lock"]


@as_root
def test_the_group_is_that_of_the_socket_and_of_a_new_directory(tmp_path: Path) -> None:
    path = tmp_path / "run" / "device-api.sock"
    with listen(str(path), group=5000):
        assert (path.lstat().st_gid, path.parent.stat().st_gid) == (5000, 5000)


def test_a_directory_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with listen(str(tmp_path / "device-api.sock")):
        assert mode(tmp_path) == 0o755


def test_only_the_last_of_missing_directories_is_closed(tmp_path: Path) -> None:
    with umask(0o022), listen(str(tmp_path / "a" / "b" / "device-api.sock")):
        assert (mode(tmp_path / "a"), mode(tmp_path / "a" / "b")) == (0o755, 0o750)


# One server for a path


@pytest.mark.covers("F33")
def test_a_second_server_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    with server(path) as first:
        assert refusal(path) == (
            f"another server already listens on {path} (pid {first.pid}): stop it, or use another path"
        )
        assert is_live(path)


def test_a_second_server_of_the_same_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    with listen(str(path)):
        assert f"(pid {os.getpid()})" in refusal(path)
        assert is_live(path)


@pytest.mark.covers("D11")
def test_the_socket_of_a_killed_server_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    with server(path) as first:
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert path.is_socket()
        before = path.lstat().st_ino
        with listen(str(path)):
            assert path.lstat().st_ino != before
            assert is_live(path)


@pytest.mark.covers("F33")
def test_the_path_is_never_empty_while_a_stale_socket_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "device-api.sock"
    leave_socket(path)
    unlink, removed = os.unlink, []

    def recorded(victim: str) -> None:
        removed.append(os.path.basename(victim))
        unlink(victim)

    monkeypatch.setattr(os, "unlink", recorded)
    with listen(str(path)):
        assert removed == ["device-api.sock~"]  # tried, and not there
        assert is_live(path)


def test_what_a_server_left_half_made_is_cleared_away(tmp_path: Path) -> None:
    leave_socket(tmp_path / "device-api.sock~")
    with listen(str(tmp_path / "device-api.sock")):
        assert not (tmp_path / "device-api.sock~").exists()


@pytest.mark.covers("D11")
def test_a_live_server_without_the_lock_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    with socket.socket(socket.AF_UNIX) as foreign:
        foreign.bind(str(path))
        foreign.listen(1)
        assert "without its lock" in refusal(path)
        assert is_live(path)


def test_a_foreign_server_that_is_too_busy_to_accept_is_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pilotage.device.socket._PROBE_SECONDS", 0.05)
    path = tmp_path / "device-api.sock"
    with socket.socket(socket.AF_UNIX) as foreign, socket.socket(socket.AF_UNIX) as waiting:
        foreign.bind(str(path))
        foreign.listen(0)
        waiting.connect(str(path))
        assert "another server listens" in refusal(path)


def test_a_socket_of_another_type_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as foreign:
        foreign.bind(str(path))
        assert "another server listens" in refusal(path)


# Files that other processes create at the path


@pytest.mark.covers("S9")
@pytest.mark.parametrize("suffix", ["", "~"])
def test_a_symbolic_link_is_neither_followed_nor_removed(tmp_path: Path, suffix: str) -> None:
    victim, path = tmp_path / "victim", tmp_path / "device-api.sock"
    leave_socket(victim)
    link = tmp_path / f"device-api.sock{suffix}"
    link.symlink_to(victim)
    assert "is a symbolic link and is not replaced" in refusal(path)
    assert link.is_symlink()
    assert victim.is_socket()


@pytest.mark.parametrize("suffix", ["", "~"])
def test_a_file_in_the_way_is_left_alone(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"device-api.sock{suffix}"
    file.write_text("precious")
    assert "is not a socket and is not replaced" in refusal(tmp_path / "device-api.sock")
    assert file.read_text() == "precious"


def test_a_lock_file_that_is_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("12345")
    (tmp_path / "device-api.sock.lock").symlink_to(tmp_path / "precious")
    assert "cannot open the lock file" in refusal(tmp_path / "device-api.sock")
    assert (tmp_path / "precious").read_text() == "12345"


def test_a_lock_file_with_another_name_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("12345")
    os.link(tmp_path / "precious", tmp_path / "device-api.sock.lock")
    assert "device-api.sock.lock is not safe" in refusal(tmp_path / "device-api.sock")
    assert (tmp_path / "precious").read_text() == "12345"


def test_a_lock_file_that_is_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "device-api.sock.lock")
    assert "device-api.sock.lock is not safe" in refusal(tmp_path / "device-api.sock")


def test_a_directory_that_everybody_may_change_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    assert f"the directory {tmp_path} is world-writable" in refusal(tmp_path / "device-api.sock")
    assert list(tmp_path.iterdir()) == []


def test_so_is_one_below_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    (tmp_path / "run").mkdir(0o755)
    assert f"the directory {tmp_path} is world-writable" in refusal(tmp_path / "run" / "device-api.sock")


def test_the_sticky_bit_makes_it_fit_for_use(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    with listen(str(tmp_path / "device-api.sock")):
        assert is_live(tmp_path / "device-api.sock")


@as_root
def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, NOBODY, NOBODY)
    assert f"the directory {tmp_path} belongs to uid 65534" in refusal(tmp_path / "device-api.sock")


@pytest.mark.covers("S9")
@as_root
def test_a_socket_that_another_user_made_before_is_refused(public_folder: Path) -> None:
    public_folder.chmod(0o1777)
    path = public_folder / "device-api.sock"
    run_as(NOBODY, "socket.socket(socket.AF_UNIX).bind(sys.argv[1])", str(path))
    assert f"{path} is a socket of uid 65534 and is not replaced" in refusal(path)
    assert path.is_socket()


@as_root
def test_a_lock_file_that_another_user_made_before_is_refused(public_folder: Path) -> None:
    public_folder.chmod(0o1777)
    path = public_folder / "device-api.sock"
    run_as(NOBODY, "open(sys.argv[1] + '.lock', 'w').write('1')", str(path))
    assert "lock" in refusal(path)
    assert Path(f"{path}.lock").read_text() == "1"


# Which users may connect


@pytest.mark.covers("S9")
@as_root
def test_the_user_nobody_is_refused_by_the_mode_of_the_directory(public_folder: Path) -> None:
    path = str(public_folder / "run" / "device-api.sock")
    with listen(path, mode=0o666):
        assert connect_as(NOBODY, path) == "PermissionError"


@pytest.mark.covers("S9")
@as_root
def test_the_user_nobody_is_refused_by_the_mode_of_the_socket(public_folder: Path) -> None:
    path = str(public_folder / "device-api.sock")
    with listen(path):
        assert connect_as(NOBODY, path) == "PermissionError"


@as_root
def test_a_member_of_the_group_gets_in(public_folder: Path) -> None:
    path = str(public_folder / "run" / "device-api.sock")
    with listen(path, group=5000):
        assert connect_as(NOBODY, path, groups=[5000]) == "connected"
        assert connect_as(NOBODY, path, gid=5000) == "connected"
        assert connect_as(NOBODY, path) == "PermissionError"


def test_a_child_keeps_neither_the_socket_nor_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "device-api.sock"
    with listen(str(path)):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    with child:
        try:
            with listen(str(path)):
                assert is_live(path)
        finally:
            child.kill()


LISTEN = """
try:
    with listen(sys.argv[1], group=int(sys.argv[2])):
        info = os.lstat(sys.argv[1])
        print(info.st_uid, info.st_gid, oct(info.st_mode & 0o777))
except SocketUnavailable as error:
    print(error)
"""
BEFORE = "from pilotage.device.socket import SocketUnavailable, listen"


@as_root
def test_a_plain_user_can_listen_with_a_group_it_is_in_and_no_other(public_folder: Path) -> None:
    os.chown(public_folder, 1234, 1234)
    path = str(public_folder / "run" / "device-api.sock")
    assert run_as(1234, LISTEN, path, "5000", groups=[5000], before=BEFORE) == "1234 5000 0o660"
    line = run_as(1234, LISTEN, str(public_folder / "s"), "5000", before=BEFORE)
    assert line.startswith(f"cannot listen on {public_folder}/s: Operation not permitted")


@as_root
def test_a_plain_user_gets_an_error_where_root_was_before_it(public_folder: Path) -> None:
    public_folder.chmod(0o1777)
    path = public_folder / "device-api.sock"
    with listen(str(path)):
        pass
    line = run_as(1234, LISTEN, str(path), "1234", before=BEFORE)
    assert line.startswith(f"cannot open the lock file {path}.lock: Permission denied; uid 1234 must")


# Paths


def test_a_path_as_long_as_the_kernel_allows_can_be_used_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / ("s" * (LONGEST - len(str(tmp_path)) - 1))
    leave_socket(path)
    with listen(str(path)):
        assert is_live(path)


def test_a_longer_path_is_refused(tmp_path: Path) -> None:
    path = tmp_path / ("s" * (LONGEST - len(str(tmp_path))))
    assert refusal(path) == f"the socket path {path} has 108 bytes, and the limit is 107: use a shorter path"


def test_a_short_path_through_a_link_to_a_long_one_can_be_used(tmp_path: Path) -> None:
    (tmp_path / ("d" * 150)).mkdir(0o755)
    (tmp_path / "run").symlink_to(tmp_path / ("d" * 150))
    path = tmp_path / "run" / "device-api.sock"
    leave_socket(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").rename(path)
    with listen(str(path)):
        assert is_live(path)


@pytest.mark.parametrize("path", ["/", "", "/tmp/", "/tmp/.."])
def test_what_names_no_file_is_refused(path: str) -> None:
    assert "invalid socket path" in refusal(path)


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert refusal(tmp_path / "file" / "run" / "s").startswith(f"cannot listen on {tmp_path}/file/run/s: ")
    assert "not a directory" in refusal(tmp_path / "file" / "s")


@pytest.mark.virtual_time
@pytest.mark.parametrize("kind", ["file", "directory"])
async def test_a_path_that_is_no_socket_is_refused_as_such(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "device.sock"
    path.touch() if kind == "file" else path.mkdir()
    async with device.connect(f"unix://{path}") as devices:
        with pytest.raises(ConnectionLost) as caught:
            await devices.v1alpha1.gpus.list()
    assert str(caught.value) == (
        f"unix://{path}: this is a {kind} and not a socket: give the path of the server's socket"
    )
