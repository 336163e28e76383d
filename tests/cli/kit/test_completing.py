"""Completion of a tool: its commands, its types, and the names in its storage."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.kit.tools import Console


def test_the_words_of_types_and_names_come_from_the_storage(todo: Console) -> None:
    todo.output("create", "todo", "milk", "--set", "spec.text=x", "--no-reconcile")
    assert todo.output("completion", "objects").split() == ["events", "namespaces", "todos"]
    assert todo.output("completion", "objects", "td") == "milk\n"
    assert todo.output("completion", "objects", "nothing") == ""


def test_the_script_is_that_of_the_tool(todo: Console, tmp_path: Path) -> None:
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    (tmp_path / "script").write_text(todo.output("completion", "bash"))

    def completed(*words: str) -> list[str]:
        program = (
            'source ./script; compopt() { :; }; todo() { echo "<$*>"; }; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
            "_todo; printf '%s\\n' \"${COMPREPLY[@]}\""
        )
        command = ["bash", "--norc", "-c", program, "bash", "todo", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()

    assert completed("ann") == ["annotate"]
    assert "--no-reconcile" in completed("create", "--no")
    assert completed("get", "todos", "") == ["<completion", "objects", "todos>"]


def test_a_wrong_shell_is_refused(todo: Console) -> None:
    refused = todo.run("completion", "tcsh")
    assert refused.code == 2
    assert "choose from" in refused.errors
    assert "objects" not in refused.errors
