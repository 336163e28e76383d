from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pilotage import cli

Pilotage = Callable[[str], list[str]]
"""Runs a command line in the folder of the test and returns the lines that it printed."""


@pytest.fixture
def pilotage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Pilotage:
    monkeypatch.chdir(tmp_path)

    def run(command: str) -> list[str]:
        assert cli.main(command.split()) == 0, capsys.readouterr().err
        return capsys.readouterr().out.splitlines()

    return run


@pytest.fixture
def refused(pilotage: Pilotage, capsys: pytest.CaptureFixture[str]) -> Pilotage:
    """Runs a command line that fails, and returns what it printed: the error last."""

    def run(command: str) -> list[str]:
        assert cli.main(command.split()) == 1
        printed = capsys.readouterr()
        assert printed.err.count("\n") == 1
        return [*printed.out.splitlines(), printed.err.removesuffix("\n").removeprefix("pilotage: ")]

    return run


@pytest.fixture
def project(pilotage: Pilotage, tmp_path: Path) -> Path:
    """A new project in the folder of the test."""
    pilotage("init --name guestbook")
    return tmp_path
