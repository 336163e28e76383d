from __future__ import annotations

import os
import queue
import signal
import socket
import sys
from pathlib import Path

import pytest

from pilotage.cli.program.modules import load
from pilotage.cli.run.reloaded import VARIABLE, channel_to_parent, program_files, reported
from pilotage.kit.console.errors import CommandError


def test_the_files_of_a_program_are_its_own(own_imports: Path) -> None:
    (own_imports / "helper.py").write_text("x = 1\n")
    (own_imports / "hello.py").write_text("import helper, json, pilotage, pytest\n")
    load("hello.py")
    found = program_files()
    assert {str(own_imports / "hello.py"), str(own_imports / "helper.py")} <= found
    foreign = [sys.modules[name].__file__ for name in ("json", "pilotage", "pytest")]
    assert found.isdisjoint({file for file in foreign if file})


@pytest.mark.parametrize("text", ["def broken(\n", "raise ValueError\n"])
def test_a_module_that_cannot_be_imported_is_a_file_of_the_program(own_imports: Path, text: str) -> None:
    (own_imports / "helper.py").write_text(text)
    (own_imports / "hello.py").write_text("import helper\n")
    with pytest.raises(CommandError) as raised:
        load("hello.py")
    assert str(own_imports / "helper.py") in program_files(raised.value)


def test_the_files_are_reported_also_after_a_failure(own_imports: Path) -> None:
    (own_imports / "hello.py").write_text("x = 1\n")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        load("hello.py")
        with pytest.raises(CommandError), reported(theirs, [Path("objects.yaml")]):
            load("nope.py")
        files = ours.recv(65536).split(b"\n")
        assert {os.fsencode(own_imports / name) for name in ("hello.py", "objects.yaml")} <= set(files)


def test_without_a_parent_nothing_is_reported() -> None:
    assert VARIABLE not in os.environ
    assert channel_to_parent() is None
    with reported(None):
        pass


def test_the_program_ends_with_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: queue.Queue[tuple[int, int]] = queue.Queue()
    monkeypatch.setattr(os, "kill", lambda *arguments: ended.put(arguments))
    ours, theirs = socket.socketpair()
    monkeypatch.setenv(VARIABLE, str(theirs.detach()))
    channel = channel_to_parent()
    assert channel is not None
    with channel:
        assert VARIABLE not in os.environ  # a process that the program starts is not its child
        assert not channel.get_inheritable()
        ours.close()
        assert ended.get(timeout=100) == (os.getpid(), signal.SIGTERM)
