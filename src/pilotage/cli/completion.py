"""`pilotage completion`: a script that completes command lines in a shell."""

from __future__ import annotations

import argparse

from pilotage.cli.help import examples
from pilotage.cli.shells import OBJECTS, add_shell, print_script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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


def run(options: argparse.Namespace) -> int:
    """Print the script and return the exit code."""
    from pilotage.cli import parser

    if options.shell == OBJECTS:
        from pilotage.cli.kit.anywhere import Anywhere
        from pilotage.cli.kit.completing import print_objects

        return print_objects(Anywhere(), parser(), options.words)
    return print_script(options.shell, parser(), "pilotage")
