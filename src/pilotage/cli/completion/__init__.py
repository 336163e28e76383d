"""`pilotage completion`: a script that completes command lines in a shell."""

from __future__ import annotations

import argparse
import sys

from pilotage.cli.help import examples

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHELLS = ("bash", "zsh", "fish")
OBJECTS = "objects"


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command: argparse.ArgumentParser = subparsers.add_parser(
        "completion",
        help="print a script for the completion of command lines",
        description="Print a script that completes the commands, options and files of pilotage in a shell. Load it in "
        "the start file of the shell: ~/.bashrc, ~/.zshrc (after compinit) or ~/.config/fish/config.fish.",
        epilog=examples(
            'eval "$(pilotage completion bash)"',
            'eval "$(pilotage completion zsh)"',
            "pilotage completion fish | source",
        ),
    )
    add_shell(command)
    command.set_defaults(run=run)


def add_shell(command: argparse.ArgumentParser) -> None:
    """The arguments of the command. The scripts call it with `objects --` and the words from the command to the cursor,
    of which the last one may be empty."""
    command.add_argument("shell", choices=_Shells(SHELLS), metavar="SHELL", help=f"the shell: {', '.join(SHELLS)}")
    command.add_argument("words", nargs="*", default=[], help=argparse.SUPPRESS)  # a default: not required


class _Shells(tuple[str, ...]):
    """The shells, and `objects`, which is not shown."""

    def __contains__(self, word: object) -> bool:
        return word == OBJECTS or super().__contains__(word)


def run(options: argparse.Namespace) -> int:
    """Print the script and return the exit code."""
    from pilotage.cli import parser

    if options.shell == OBJECTS:
        from pilotage.cli.kit.anywhere import Anywhere
        from pilotage.cli.kit.completing import print_objects

        return print_objects(Anywhere(), parser(), options.words)
    return print_script(options.shell, parser(), "pilotage")


def print_script(shell: str, parser: argparse.ArgumentParser, program: str) -> int:
    """Print the script of a program for a shell."""
    from importlib import import_module

    from pilotage.cli.completion.commands import described

    script = import_module(f"pilotage.cli.completion.{shell}").script
    sys.stdout.write(script(described(parser, (program,))))
    return 0
