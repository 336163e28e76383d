"""Which users may call a whole server: every caller is a separate process with its own user and groups."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ..cli.device.processes import refused, serving
from .strangers import NOBODY, as_root, calls_as, connect_as, public_folder, run_as

__all__ = ["public_folder"]

pytestmark = as_root

FAKE = ("--provider", "fake", "--period", "0")
OPEN = (*FAKE, "--socket-mode", "0666")

SHUT_OUT = dict.fromkeys(("list", "watch", "heartbeat", "delete"), "ConnectionLost")
READER = {"list": "8", "watch": "ADDED", "heartbeat": "Forbidden", "delete": "Forbidden"}
WRITER = {"list": "8", "watch": "ADDED", "heartbeat": "True", "delete": "None"}


@pytest.mark.covers("S9")
def test_the_user_nobody_is_refused_by_the_mode_of_the_directory_and_of_the_socket(public_folder: Path) -> None:
    path = public_folder / "run" / "device-api.sock"
    with serving(path, *FAKE):
        assert connect_as(NOBODY, str(path)) == "PermissionError"
        path.parent.chmod(0o755)
        assert connect_as(NOBODY, str(path)) == "PermissionError"
        assert calls_as(NOBODY, path) == SHUT_OUT


@pytest.mark.covers("S9")
def test_the_user_nobody_is_refused_by_its_credentials_when_the_mode_admits_it(public_folder: Path) -> None:
    path = public_folder / "device-api.sock"
    with serving(path, *OPEN) as server:
        assert connect_as(NOBODY, str(path)) == "connected"
        assert calls_as(NOBODY, path) == SHUT_OUT
        server.stop()
    assert "uid 65534, gid 65534" in server.errors


def test_root_may_read_and_write(public_folder: Path) -> None:
    path = public_folder / "device-api.sock"
    with serving(path, *FAKE):
        assert calls_as(0, path) == WRITER


@pytest.mark.parametrize("membership", [{"groups": [5000]}, {"gid": 5000}])
def test_a_member_of_the_group_may_read(public_folder: Path, membership: dict[str, list[int] | int]) -> None:
    path = public_folder / "run" / "device-api.sock"
    with serving(path, *FAKE, "--group", "5000"):
        assert calls_as(1234, path, **membership) == READER  # type: ignore[arg-type]  # each has its own type


@pytest.mark.covers("S9")
@pytest.mark.parametrize(
    ("option", "rights"),
    [
        ("--allow-read-uid=1234", READER),
        ("--allow-write-uid=1234", WRITER),
        ("--allow-read-gid=777", READER),
        ("--allow-write-gid=777", WRITER),
        ("--allow-write-uid=4321", SHUT_OUT),
    ],
)
def test_who_is_listed_gets_the_role_and_others_none(public_folder: Path, option: str, rights: dict[str, str]) -> None:
    path = public_folder / "device-api.sock"
    with serving(path, *OPEN, option):
        assert calls_as(1234, path, groups=[777]) == rights


@pytest.mark.covers("S9")
def test_a_link_and_a_socket_that_were_put_there_before_stop_the_server(public_folder: Path) -> None:
    public_folder.chmod(0o1777)
    victim = public_folder / "victim"
    victim.write_text("precious")
    trap = public_folder / "trap.sock"
    run_as(NOBODY, "os.symlink(sys.argv[1], sys.argv[2])", str(victim), str(trap))
    assert "is a symbolic link and is not replaced" in refused("--target", f"unix://{trap}", *FAKE)
    early = public_folder / "early.sock"
    run_as(NOBODY, "socket.socket(socket.AF_UNIX).bind(sys.argv[1])", str(early))
    assert "is a socket of uid 65534 and is not replaced" in refused("--target", f"unix://{early}", *FAKE)
    assert (victim.read_text(), early.is_socket(), os.readlink(trap)) == ("precious", True, str(victim))


def test_a_directory_that_everybody_may_change_stops_the_server(public_folder: Path) -> None:
    public_folder.chmod(0o777)
    assert "is world-writable" in refused("--target", f"unix://{public_folder}/s", *FAKE)


def test_a_user_with_the_largest_number_is_known_by_it(public_folder: Path) -> None:
    path = public_folder / "device-api.sock"
    with serving(path, *OPEN, "--allow-read-uid", str(2**32 - 2)):
        assert calls_as(2**32 - 2, path, gid=NOBODY) == READER
