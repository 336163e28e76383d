"""Completion: the types of a server or storage, and the names of objects, for the scripts of shells."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial

from pilotage.cli.completion import OBJECTS, add_shell, print_script
from pilotage.cli.help import examples
from pilotage.cli.kit.arguments.flags import Command, add_nothing
from pilotage.cli.kit.execution import CommandBackend, execute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pilotage.cli.kit.tool import Tool

NAMES = Command("names", "", "", (), add_nothing)


def print_objects(place: CommandBackend, words: Sequence[str]) -> int:
    """Print what may follow the words of a command line, one word a line."""
    resources = [word for word in words if not word.startswith("-")]
    nowhere = dict.fromkeys(("storage", "kubeconfig", "context", "namespace"), "")
    return execute(place, NAMES, argparse.Namespace(resources=resources, tenant="default", **nowhere))


def register(subparsers: Any, tool: Tool) -> None:
    """Add `completion` to the command line of a tool."""
    command: argparse.ArgumentParser = subparsers.add_parser(
        "completion",
        help="print a script for the completion of command lines",
        description=f"Print a script that completes the commands, options, types and names of {tool.name} in a shell.",
        epilog=examples(f'eval "$({tool.name} completion bash)"', f"{tool.name} completion fish | source"),
    )
    add_shell(command)
    command.set_defaults(run=partial(_run, tool))


def _run(tool: Tool, options: argparse.Namespace) -> int:
    if options.shell == OBJECTS:
        return print_objects(tool, options.words)
    return print_script(options.shell, tool.parser(), tool.name)
