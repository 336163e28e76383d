"""The Unix sockets by which programs of one user reach each other."""

from __future__ import annotations

import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pilotage.net.localsockets import LocalSocketUnavailable, listening, running


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A folder with a short path for the sockets."""
    with tempfile.TemporaryDirectory(prefix="pt") as place:
        monkeypatch.setenv("XDG_RUNTIME_DIR", place)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        yield Path(place) / "pilotage"


def test_only_the_user_can_open_a_socket_and_it_ends_with_its_block(folder: Path) -> None:
    with listening("guest book/operator"):
        (found,) = running()
        assert (found.pid, found.name) == (os.getpid(), "guest-book-operator")
        assert str(found) == f"guest-book-operator (pid {os.getpid()})"
        assert stat.S_IMODE(os.stat(found.path).st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert running() == []
    assert [*folder.iterdir()] == []


def test_the_socket_of_a_process_that_was_killed_is_removed(folder: Path) -> None:
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(folder / "1-operator.sock"))
    (folder / "notes.txt").write_text("not a socket")
    (folder / "2-file.sock").write_text("not a socket")
    assert running() == []
    assert sorted(path.name for path in folder.iterdir()) == ["2-file.sock", "notes.txt"]


def test_a_socket_that_is_not_ready_yet_is_neither_found_nor_removed(folder: Path) -> None:
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as starting:
        starting.bind(str(folder / "1-operator.sock~"))
        assert running() == []
        assert (folder / "1-operator.sock~").exists()


def test_a_folder_that_others_may_enter_is_closed(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    with listening("operator"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_link_in_place_of_the_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    folder.symlink_to(tmp_path)
    with pytest.raises(LocalSocketUnavailable, match="is not a folder of uid"), listening("operator"):
        pass
    with pytest.raises(LocalSocketUnavailable, match="set XDG_RUNTIME_DIR to a folder of your own"):
        running()


def test_without_a_folder_of_the_session_it_is_in_the_temporary_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(short := Path(tempfile.mkdtemp(prefix="pt"))))
    with monkeypatch.context() as without:
        without.delenv("XDG_RUNTIME_DIR")
        with listening("operator"):
            (found,) = running()
            assert Path(found.path).parent == short / f"pilotage-{os.geteuid()}"
            without.setenv("XDG_RUNTIME_DIR", str(tmp_path))
            assert running() == [found]  # a shell of another session finds it, too
    (short / f"pilotage-{os.geteuid()}").rmdir()
    short.rmdir()


def test_a_path_that_is_too_long_names_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    hint = "set XDG_RUNTIME_DIR to a folder with a shorter path"
    with pytest.raises(LocalSocketUnavailable, match=hint), listening("operator"):
        pass
