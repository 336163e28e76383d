"""Completion in shells: the command `completion` of a program, with a script for bash, zsh or fish."""

from __future__ import annotations

import argparse
import sys

from pilotage.kit.console.help import add_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

SHELLS = ("bash", "zsh", "fish")
_OBJECTS = "objects"


def add_completion(
    subparsers: Any,
    program: str,
    parser: Callable[[], argparse.ArgumentParser],
    print_objects: Callable[[Sequence[str]], int],
    description: str,
    *lines: str,
) -> None:
    """Add `completion` to the command line of a program; `parser` returns that with all of its commands.

    The scripts call the command with `objects --` and the words from the command to the cursor, of which the last one
    may be empty: these are passed to `print_objects`.
    """

    def run(options: argparse.Namespace) -> int:
        if options.shell == _OBJECTS:
            return print_objects(options.words)
        return _print_script(options.shell, parser(), program)

    summary = "print a script for the completion of command lines"
    command = add_command(subparsers, "completion", summary, description, *lines, run=run)
    command.add_argument("shell", choices=_Shells(SHELLS), metavar="SHELL", help=f"the shell: {', '.join(SHELLS)}")
    command.add_argument("words", nargs="*", default=[], help=argparse.SUPPRESS)  # a default: not required


class _Shells(tuple[str, ...]):
    """The shells, and `objects`, which is not shown."""

    def __contains__(self, word: object) -> bool:
        return word == _OBJECTS or super().__contains__(word)


def _print_script(shell: str, parser: argparse.ArgumentParser, program: str) -> int:
    from importlib import import_module

    from pilotage.kit.console.shells.commands import described

    script = import_module(f"pilotage.kit.console.shells.{shell}").script
    sys.stdout.write(script(described(parser, (program,))))
    return 0
