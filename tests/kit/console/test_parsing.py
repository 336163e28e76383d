from __future__ import annotations

import argparse
import base64
from pathlib import Path
from typing import Any, NoReturn

import pytest

from pilotage.cli import main
from pilotage.kit.arguments.flags import namespace
from pilotage.kit.console.flags import storages
from pilotage.kit.console.help import add_command
from pilotage.kit.console.parsing import command_first
from tests.kit.tools import captured, todo_tool


@pytest.mark.parametrize(
    ("typed", "parsed"),
    [
        ("get pods -n shop", "get pods -n shop"),
        ("-n shop get pods", "get -n shop pods"),
        ("--kubeconfig=k --context c get pods", "get --kubeconfig=k --context c pods"),
        ("-nshop get pods", "get -nshop pods"),
        ("-n=shop get pods", "get -n=shop pods"),
        ("--encryption-keys k get pods", "get --encryption-keys k pods"),
        ("-n shop -A get pods", "-A get -n shop pods"),
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


def test_it_may_be_named_before_a_command_that_has_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    storage = f"sqlite:{tmp_path}/notes.db"
    (tmp_path / "keys").write_text("first: " + base64.b64encode(bytes(32)).decode())
    assert todo_tool(tmp_path).run(["--storage", storage, "create", "namespace", "shop", "--no-reconcile"]) == 0
    capsys.readouterr()
    for line in (["--storage", storage, "tenants", "list"], ["tenants", f"--storage={storage}", "list"]):
        assert main(line) == 0
        assert capsys.readouterr().out == "default\n"
    assert main(["-nshop", "--tenant", "default", "store", "export", storage]) == 0
    assert main(["--encryption-keys", str(tmp_path / "keys"), "store", "check", storage]) == 0


@pytest.mark.parametrize(
    ("line", "program"),
    [("-n default --storage sqlite:a.db", "pilotage"), ("tenants --storage sqlite:a.db", "pilotage tenants")],
)
def test_options_without_a_command_are_refused_for_that(
    line: str, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exited:
        main(line.split())
    place = line.removeprefix("tenants ")
    assert exited.value.code == 2
    assert capsys.readouterr().err.startswith(f"{program}: error: a command is missing after: {place}\n")


def test_help_and_version_need_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    for flag in ("--help", "--version"):
        with pytest.raises(SystemExit) as exited:
            main(["-n", "shop", flag])
        assert not exited.value.code
        assert "pilotage" in capsys.readouterr().out


def test_every_option_for_the_place_may_stand_before_the_command() -> None:
    command = argparse.ArgumentParser(add_help=False)
    storages.add_storage(command, "")
    for name, add in vars(storages).items():
        if name.startswith("add_") and add.__module__ == storages.__name__ and name != "add_storage":
            add(command)
    namespace(command)
    assert {flag for action in command._actions for flag in action.option_strings} == set(storages.FLAGS)


class Application(argparse.ArgumentParser):
    """The parser of an application with errors of its own."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{self.prog}: {message}")


class Reversed(argparse.ArgumentParser):
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        return super().parse_known_args(list(reversed(args)), namespace)


def test_a_command_has_a_parser_of_its_own_and_the_errors_of_the_application() -> None:
    root = Application(prog="app")
    commands = root.add_subparsers()
    command = add_command(commands, "swap", "swap two words", "Swap two words.", parser_class=Reversed)
    command.add_argument("first")
    command.add_argument("second")
    other = commands.add_parser("other")
    assert vars(root.parse_args(["swap", "a", "b"])) == {"first": "b", "second": "a"}
    with pytest.raises(ValueError, match="app swap: the following arguments are required: first"):
        root.parse_args(["swap"])
    assert type(other) is Application


def test_a_tool_refuses_options_without_a_command_for_that(tmp_path: Path) -> None:
    ran = captured(lambda: todo_tool(tmp_path).run(["--tenant", "a"]))
    assert (ran.code, ran.errors.splitlines()[0]) == (2, "todo: error: a command is missing after: --tenant a")
