from __future__ import annotations

import argparse
from typing import Any, NoReturn

import pytest

from pilotage.cli import main
from pilotage.cli.parsing import CommandParser, add_command, command_first


@pytest.mark.parametrize(
    ("typed", "parsed"),
    [
        ("get pods -n shop", "get pods -n shop"),
        ("-n shop get pods", "get -n shop pods"),
        ("--kubeconfig=k --context c get pods", "get --kubeconfig=k --context c pods"),
        ("--storage memory:", "--storage memory:"),
        ("--version", "--version"),
        ("-n", "-n"),
        ("", ""),
    ],
)
def test_where_a_command_works_may_be_named_before_it(typed: str, parsed: str) -> None:
    assert command_first(typed.split()) == parsed.split()


def test_the_command_accepts_what_kubectl_accepts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--storage", "memory:", "create", "namespace", "shop"]) == 0
    assert capsys.readouterr().out == "namespace/shop created\n"


class Application(argparse.ArgumentParser):
    """The parser of an application with errors of its own."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{self.prog}: {message}")


class Reversed(CommandParser):
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        return super().parse_known_args(list(reversed(args)), namespace)


def test_a_command_has_a_parser_of_its_own_and_the_errors_of_the_application() -> None:
    root = Application(prog="app")
    commands = root.add_subparsers()
    command = add_command(commands, Reversed, "swap")
    command.add_argument("first")
    command.add_argument("second")
    other = commands.add_parser("other")
    assert vars(root.parse_args(["swap", "a", "b"])) == {"first": "b", "second": "a"}
    with pytest.raises(ValueError, match="app swap: the following arguments are required: first"):
        root.parse_args(["swap"])
    assert type(other) is Application
