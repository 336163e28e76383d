"""The `pilotage` command. Each subcommand is a module with `register(subparsers)`, loaded if it is needed. What is
heavy loads when the subcommand runs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from pilotage.cli.help import HelpFormatter, examples
from pilotage.errors import PilotageError

COMMANDS = ("init", "create", "run", "demo", "serve", "device", "crd", "types", "manifests", "rbac", "completion")
"""The subcommands in the order of the help; each is a module of this package."""


def parser(commands: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """The parser of the command line, with these subcommands. A test compares the documentation with it."""
    root = _Parser(
        prog="pilotage",
        description="Controllers and Kubernetes-style resources in Python, with an embedded API server.",
        epilog=examples(
            "pilotage demo --once",
            "pilotage run operator.py --storage memory:",
            "pilotage serve --storage sqlite:demo.db",
            "pilotage run --help",
        ),
    )
    root.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    subparsers = root.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in commands:
        import_module(f"pilotage.cli.{command}").register(subparsers)
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 success, 1 failure with one line on standard error, 2 wrong usage,
    130 interrupted."""
    try:
        try:
            return _run(arguments)
        finally:
            sys.stdout.flush()  # here, so that a closed pipe is handled below and not when the interpreter exits
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does. The interpreter must not flush to it again when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(arguments: Sequence[str] | None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    named = [word for word in words[:1] if word in COMMANDS]
    options = parser(named or COMMANDS).parse_args(words)
    try:
        return int(options.run(options) or 0)
    except PilotageError as error:
        from pilotage.cli.terminal import BOLD, RED, standard_error

        terminal = standard_error()
        terminal.line(f"{terminal.styled('pilotage:', BOLD, RED)} {error}")
        return 1
    except KeyboardInterrupt:
        return 130


class _Parser(argparse.ArgumentParser):
    """A parser that rejects unknown arguments itself, so that the usage of the right subcommand is printed.

    argparse leaves that to the outermost parser, which prints the usage of the whole command.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **({"formatter_class": HelpFormatter} | named))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown


class _Version(argparse.Action):
    """Looks up the version only when `--version` is given: the lookup is slower than the rest of the command line."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"pilotage {version('pilotage')}")
        except PackageNotFoundError:
            print("pilotage (run from its source, not installed)")
        parser.exit()
