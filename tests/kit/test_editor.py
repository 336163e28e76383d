"""The editor of `edit`: signals while it is open, and what is kept when it fails."""

from __future__ import annotations

import errno
import os
import signal
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from pilotage.errors import NotFound, StorageFull
from pilotage.kit.session import CommandSession
from tests.forked import ForkedProcess
from tests.kit.tools import Console


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
from tests.kit.tools import Todo, setup
from pilotage import kit

signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
used = setup if sys.argv[1] == "reconcilers" else None
kit.Tool("todo", kinds=[Todo], setup=used, storage="sqlite:todo.db").main(sys.argv[2:])
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("reconcilers", ["reconcilers", "none"])
def test_an_edit_that_is_terminated_keeps_its_file_and_names_it(
    reconcilers: str, number: signal.Signals, created: Console, tmp_path: Path
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
        process.send_signal(number)
        _, errors = process.communicate(100)
    assert process.returncode == 130
    kept = next(line for line in errors.splitlines() if line.startswith("Edit interrupted, the file is kept: "))
    file = Path(kept.partition(": ")[2])
    assert "text: cheese" in file.read_text()
    assert created.output("get", "todo/milk", "-o", "jsonpath={.spec.text}") == "milk"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the files of `edit` are."""
    found = tmp_path / "edited"
    found.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(found))
    return found


def kept(folder: Path, errors: str) -> str:
    """The text of the file that an error names."""
    line = next(line for line in errors.splitlines() if line.startswith("A copy of your changes has been stored to "))
    file = Path(line.rpartition(" ")[2])
    assert folder in file.parents
    return file.read_text()


def test_an_editor_that_fails_keeps_what_was_written(
    created: Console, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBE_EDITOR", editor(tmp_path, 'sed -i "s/text: milk/text: cheese/" "$1"', "exit 3"))
    ran = created.run("edit", "todo", "milk")
    assert (ran.code, "text: cheese" in kept(folder, ran.errors)) == (1, True)
    assert "exit code 3" in ran.errors


def test_an_editor_that_fails_keeps_what_it_left_for_recovery(
    created: Console, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBE_EDITOR", editor(tmp_path, 'echo cheese > "$1.swp"', "kill -KILL $$"))
    ran = created.run("edit", "todo", "milk")
    assert "text: milk" in kept(folder, ran.errors)
    assert [file.read_text() for file in folder.glob("*/*.swp")] == ["cheese\n"]
    assert "ended by SIGKILL" in ran.errors


@pytest.mark.parametrize("program", ["false", "/nowhere/editor", "rm", "'unclosed"])
def test_an_editor_that_changes_nothing_leaves_no_file(
    program: str, created: Console, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBE_EDITOR", program)
    ran = created.run("edit", "todo", "milk")
    assert (ran.code, "A copy" in ran.errors, list(folder.iterdir())) == (1, False, [])


def test_changes_that_are_not_valid_are_kept_also_if_the_file_is_emptied(
    created: Console, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = f'if [ -e {tmp_path}/again ]; then : > "$1"; exit; fi; touch {tmp_path}/again'
    monkeypatch.setenv("KUBE_EDITOR", editor(tmp_path, once, 'sed -i "s/text: milk/text: [cheese]/" "$1"'))
    ran = created.run("edit", "todo", "milk")
    text = kept(folder, ran.errors)
    assert "text: [cheese]" in text
    assert '# todos "milk" was not valid:\n# * spec.text: Invalid value' in text
    assert ran.errors.startswith("Edit cancelled, no valid changes were saved.\nA copy of your changes")
    assert '\nThe Todo "milk" is invalid: spec.text: Invalid value' in ran.errors
    assert ran.code == 1


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        ("s/resourceVersion: .*/resourceVersion: '1'/", 4, "Error from server (Conflict): "),
        ("s/text: milk/text: [/", 1, "error: "),
    ],
)
def test_giving_up_has_the_reason_and_the_exit_code_of_the_last_refusal(
    script: str,
    code: int,
    message: str,
    created: Console,
    tmp_path: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    once = f"if [ -e {tmp_path}/again ]; then exit; fi; touch {tmp_path}/again"
    monkeypatch.setenv("KUBE_EDITOR", editor(tmp_path, once, f'sed -i "{script}" "$1"'))
    ran = created.run("edit", "todo", "milk")
    assert (ran.code, f"\n{message}" in ran.errors) == (code, True), ran.errors
    assert kept(folder, ran.errors).startswith("# Please edit")


def test_an_object_that_is_deleted_meanwhile_is_not_found(
    created: Console, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def patch(*arguments: object) -> NoReturn:
        raise NotFound('todos.todo.example.com "milk" not found')

    once = f"if [ -e {tmp_path}/again ]; then exit; fi; touch {tmp_path}/again"
    monkeypatch.setenv("KUBE_EDITOR", editor(tmp_path, once, 'sed -i "s/text: milk/text: cheese/" "$1"'))
    monkeypatch.setattr(CommandSession, "patch", patch)
    ran = created.run("edit", "todo", "milk")
    assert (ran.code, 'todos.todo.example.com "milk" not found' in ran.errors) == (3, True)
    assert '# todos "milk" could not be patched:' in kept(folder, ran.errors)


def test_a_file_has_no_other_format_than_yaml_and_json(created: Console) -> None:
    ran = created.run("edit", "todo", "milk", "-o", "custom-columns=A:.metadata.name")
    assert ran.errors == "error: -o custom-columns=A:.metadata.name: the file to edit is yaml or json\n"


def test_changes_that_the_storage_cannot_take_are_kept(
    created: Console, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def patch(*arguments: object) -> NoReturn:
        raise StorageFull("no space left")

    monkeypatch.setenv("KUBE_EDITOR", editor(tmp_path, 'sed -i "s/text: milk/text: cheese/" "$1"'))
    monkeypatch.setattr(CommandSession, "patch", patch)
    ran = created.run("edit", "todo", "milk", "--no-reconcile")
    assert (ran.code, "text: cheese" in kept(folder, ran.errors)) == (1, True)


def test_a_file_that_is_not_utf_8_is_kept(
    created: Console, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBE_EDITOR", editor(tmp_path, 'printf "text: \\377" > "$1"'))
    ran = created.run("edit", "todo", "milk")
    assert (ran.code, "error: cannot read " in ran.errors) == (1, True)
    assert [file.read_bytes() for file in folder.glob("*/*")] == [b"text: \xff"]


def test_a_full_disk_does_not_truncate_the_changes(
    created: Console, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_text

    def fill(path: Path, text: str, **options: str) -> int:
        if "was not valid" not in text:
            return write(path, text, **options)
        write(path, "", **options)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setenv("KUBE_EDITOR", editor(tmp_path, 'sed -i "s/text: milk/text: [cheese]/" "$1"'))
    monkeypatch.setattr(Path, "write_text", fill)
    ran = created.run("edit", "todo", "milk")
    assert "text: [cheese]" in kept(folder, ran.errors)
    assert "No space left on device" in ran.errors
