"""`pilotage completion`: a script that completes command lines in a shell."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pilotage.cli.help import examples

SHELLS = ("bash", "zsh", "fish")


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
    command.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"the shell: {', '.join(SHELLS)}")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the script and return the exit code."""
    from importlib import import_module

    from pilotage.cli import parser
    from pilotage.cli.completion.commands import described

    script = import_module(f"pilotage.cli.completion.{options.shell}").script
    sys.stdout.write(script(described(parser())))
    return 0
