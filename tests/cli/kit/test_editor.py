"""Signals while the editor of `edit` is open."""

from __future__ import annotations

import os
import signal
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.kit.tools import Console
from tests.forked import ForkedProcess


def editor(folder: Path, *lines: str) -> str:
    program = folder / "editor"
    program.write_text("\n".join(["#!/bin/sh", *lines]))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


@pytest.fixture
def created(todo: Console) -> Iterator[Console]:
    todo.output("create", "todo", "milk", "--set", "spec.text=milk")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    yield todo
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("reconcilers", [True, False])
def test_ctrl_c_is_for_the_editor(
    reconcilers: bool, created: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not reconcilers:
        created.tool.setup = None
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    interrupting = editor(tmp_path, "kill -INT $PPID", "kill -INT $PPID", 'sed -i "s/text: milk/text: cheese/" "$1"')
    monkeypatch.setenv("KUBE_EDITOR", interrupting)
    assert created.output("edit", "todo", "milk") == "todo.todo.example.com/milk edited\n"
    assert created.output("get", "todo/milk", "-o", "jsonpath={.spec.text}") == "cheese"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert not list(tmp_path.glob("edit-*"))


PROGRAM = """
import signal, sys
from tests.cli.kit.tools import Todo, setup
from pilotage.cli import kit

signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
used = setup if sys.argv[1] == "reconcilers" else None
kit.Tool("todo", kinds=[Todo], setup=used, storage="sqlite:todo.db").main(sys.argv[2:])
"""


@pytest.mark.parametrize("reconcilers", ["reconcilers", "none"])
def test_an_edit_that_is_terminated_keeps_its_file_and_names_it(
    reconcilers: str, created: Console, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    stuck = editor(tmp_path, 'sed -i "s/text: milk/text: cheese/" "$1"', "echo open", "exec sleep 100 > /dev/null 2>&1")
    with ForkedProcess(
        "program.py",
        reconcilers,
        "edit",
        "todo",
        "milk",
        folder=tmp_path,
        environment={**os.environ, "KUBE_EDITOR": stuck, "TMPDIR": str(tmp_path)},
    ) as process:
        assert process.stdout.readline() == "open\n"
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(100)
    assert process.returncode == 130
    kept = next(line for line in errors.splitlines() if line.startswith("Edit interrupted, the file is kept: "))
    file = Path(kept.partition(": ")[2])
    assert "text: cheese" in file.read_text()
    assert created.output("get", "todo/milk", "-o", "jsonpath={.spec.text}") == "milk"
