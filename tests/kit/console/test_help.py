"""The help of each command has examples, and each of them runs."""

from __future__ import annotations

import argparse
import re
import shlex

import pytest

from pilotage.cli import COMMANDS as COMMAND_NAMES
from pilotage.cli import _command_of, parser
from pilotage.kit.console.help import HelpFormatter, examples
from tests.cli.commands import COMMANDS

ALL = {"pilotage": parser(), **COMMANDS}


def example_lines(command: argparse.ArgumentParser) -> list[str]:
    heading, *lines = (command.epilog or "").splitlines() or [""]
    return [line.strip() for line in lines] if heading in ("example:", "examples:") else []


@pytest.mark.parametrize("name", ALL)
def test_each_command_has_an_example_of_its_own(name: str) -> None:
    assert [line for line in example_lines(ALL[name]) if name in line], "set its epilog with examples(…)"


@pytest.mark.parametrize("line", [line for command in ALL.values() for line in example_lines(command)])
def test_an_example_parses(line: str) -> None:
    inside = re.search(r"\$\((.*)\)", line)
    own = re.split(r" [|>&]", inside[1] if inside else line)[0]  # without what the shell does with the output
    program, *words = shlex.split(own)
    assert program == "pilotage"
    if "--help" not in words:
        parser(_command_of(words)).parse_args(words)


def test_the_help_of_create_shows_how_objects_are_created() -> None:
    shown = ALL["pilotage create"].format_help()
    assert "pilotage create -f FILE" in shown
    assert "pilotage create TYPE NAME [--set PATH=VALUE]" in shown
    assert ALL["pilotage create api"].format_usage().startswith("usage: pilotage create api ")


def test_each_command_stands_beside_its_help() -> None:
    lines = [line.split() for line in parser().format_help().splitlines()]
    assert [name for name in COMMAND_NAMES if [name] in lines] == []


def test_examples_stay_as_they_are_written_and_other_text_is_wrapped() -> None:
    command = argparse.ArgumentParser(
        prog="x", description="many words " * 30, epilog=examples("x --a", "x --b"), formatter_class=HelpFormatter
    )
    shown = command.format_help()
    assert shown.endswith("\nexamples:\n  x --a\n  x --b\n")
    assert max(map(len, shown.splitlines())) <= 80
