from __future__ import annotations

import logging
from pathlib import Path

import pytest

from pilotage.errors import StorageFull
from pilotage.kit.routes import light, opening
from pilotage.telemetry.logs import logger
from tests.kit.tools import Console, todo_tool


async def full_disk(*_: object) -> int:
    """A disk that is full, which the storage logs and raises."""
    logger("pilotage.storage").error("Storage is full", error="no space")
    raise StorageFull("no space is left to write to todo.db")


def interrupted(*_: object) -> int:
    """Ctrl-C while a command runs."""
    raise KeyboardInterrupt


def test_an_error_of_the_storage_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # pytest has some, and a command has none
    monkeypatch.setattr(opening, "performed", full_disk)
    ran = Console(todo_tool(tmp_path)).run("logs", "todo", "milk")
    assert (ran.code, ran.errors) == (1, "error: no space is left to write to todo.db\n")


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (
            ["apply", "-f", "-", "--no-reconcile"],
            "error: interrupted before the command was finished: not everything may be written, run it again\n",
        ),
        (["apply", "-f", "-", "--no-reconcile", "--dry-run=server"], ""),
        (["get", "todos", "--field-selector=metadata.name=a"], ""),
    ],
)
def test_a_command_that_was_interrupted_while_it_wrote_reports_it(
    words: list[str], printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(light, "performed", interrupted)
    ran = Console(todo_tool(tmp_path)).run(*words)
    assert (ran.code, ran.errors) == (130, printed)
