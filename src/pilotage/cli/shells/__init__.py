"""Completion in shells: the script of a program for bash, zsh or fish, and the arguments of the command."""

from __future__ import annotations

import argparse
import sys

SHELLS = ("bash", "zsh", "fish")
OBJECTS = "objects"


def add_shell(command: argparse.ArgumentParser) -> None:
    """The arguments of the command. The scripts call it with `objects --` and the words from the command to the cursor,
    of which the last one may be empty."""
    command.add_argument("shell", choices=_Shells(SHELLS), metavar="SHELL", help=f"the shell: {', '.join(SHELLS)}")
    command.add_argument("words", nargs="*", default=[], help=argparse.SUPPRESS)  # a default: not required


class _Shells(tuple[str, ...]):
    """The shells, and `objects`, which is not shown."""

    def __contains__(self, word: object) -> bool:
        return word == OBJECTS or super().__contains__(word)


def print_script(shell: str, parser: argparse.ArgumentParser, program: str) -> int:
    """Print the script of a program for a shell."""
    from importlib import import_module

    from pilotage.cli.shells.commands import described

    script = import_module(f"pilotage.cli.shells.{shell}").script
    sys.stdout.write(script(described(parser, (program,))))
    return 0
