from __future__ import annotations

import argparse
import logging

import pytest

from pilotage.errors import StorageFull
from pilotage.kit.arguments import COMMANDS
from pilotage.kit.arguments.planning import Facts, Plan, Where
from pilotage.kit.console.signals.deadline import ExitDeadline
from pilotage.kit.execution import execute
from pilotage.telemetry.logs import logger
from tests.kit.tools import captured


class FullDisk:
    """Where every command finds a full disk, which the storage logs and raises."""

    ends_process = False

    def facts(self, options: argparse.Namespace) -> Facts:
        return Facts(Where("sqlite:todo.db"))

    def print_stored(self, plan: Plan, options: argparse.Namespace) -> None:
        return None

    def perform_now(self, plan: Plan, options: argparse.Namespace) -> None:
        return None

    async def perform(self, plan: Plan, options: argparse.Namespace, deadline: ExitDeadline) -> int:
        logger("pilotage.storage").error("Storage is full", error="no space")
        raise StorageFull("no space is left to write to todo.db")


def test_an_error_of_the_storage_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # pytest has some, and a command has none
    ran = captured(lambda: execute(FullDisk(), COMMANDS["logs"], argparse.Namespace()))
    assert (ran.code, ran.errors) == (1, "error: no space is left to write to todo.db\n")


class Interrupted:
    """Where Ctrl-C ends every command."""

    ends_process = False

    def facts(self, options: argparse.Namespace) -> Facts:
        return Facts(Where("sqlite:todo.db"))

    def print_stored(self, plan: Plan, options: argparse.Namespace) -> None:
        return None

    def perform_now(self, plan: Plan, options: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    async def perform(self, plan: Plan, options: argparse.Namespace, deadline: ExitDeadline) -> int:
        raise AssertionError("it has ended")


@pytest.mark.parametrize(
    ("name", "dry_run", "printed"),
    [
        (
            "apply",
            "none",
            "error: interrupted before the command was finished: not everything may be written, run it again\n",
        ),
        ("apply", "server", ""),
        ("get", "none", ""),
    ],
)
def test_a_command_that_was_interrupted_while_it_wrote_reports_it(name: str, dry_run: str, printed: str) -> None:
    ran = captured(lambda: execute(Interrupted(), COMMANDS[name], argparse.Namespace(dry_run=dry_run)))
    assert (ran.code, ran.errors) == (130, printed)
