"""The `pilotage` command. Each subcommand is a module with `register(subparsers)`, imported on demand. Expensive
imports happen when the subcommand runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from pilotage import kit as kit  # programs import it from here, too
from pilotage.errors import PilotageError
from pilotage.kit import arguments
from pilotage.kit.console.help import add_help, add_version, examples, grouped
from pilotage.kit.console.parsing import Parser, command_first
from pilotage.kit.console.process import piped, skip_last_collection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OBJECT_COMMANDS = tuple(name for name in arguments.COMMANDS if name != "create")
"""The subcommands that work on objects, from `pilotage.kit`. (`create` is another one, of projects.)"""
GROUPS = {
    "projects": ("init", "create"),
    "programs": ("dev", "run", "chaos", "replay", "demo", "serve", "why", "ui", "device", "assets"),
    "generate files": ("crd", "types", "manifests", "rbac"),
    "storages": ("store", "tenants"),
    **{title: [name for name in names if name in OBJECT_COMMANDS] for title, names in arguments.GROUPS.items()},
    "the command line": ("completion", "help"),
}
"""The subcommands under the headings of the help; each is a module of this package, or of the kit."""
COMMANDS = tuple(name for names in GROUPS.values() for name in names)
CREATE_OBJECTS = "create "
"""The key of the `create` command for objects; the `create` command for projects has the same name on the command
line."""
SCAFFOLDS = ("api", "controller", "webhook")
"""What `create` adds to a project. With anything else it creates objects."""


def parser(commands: Sequence[str] = COMMANDS) -> argparse.ArgumentParser:
    """The parser of the command line, with these subcommands. A test compares the documentation with it."""
    root = Parser(
        prog="pilotage",
        description="Controllers and Kubernetes-style resources in Python, with an embedded API server.",
        epilog=examples(
            "pilotage demo --once",
            "pilotage run greetings.py --storage memory:",
            "pilotage serve --storage sqlite:demo.db",
            "pilotage run --help",
        ),
    )
    add_version(root, "pilotage {}")
    subparsers = root.add_subparsers(title="commands", required=True, metavar="COMMAND", prog=root.prog)
    for command in commands:
        _register(command, subparsers)
    grouped(subparsers, GROUPS)
    return root


def _register(command: str, subparsers: Any) -> None:
    if command == "help":
        add_help(subparsers, "pilotage", lambda words: parser([word for word in words if word in COMMANDS] or COMMANDS))
    elif command in OBJECT_COMMANDS or command == CREATE_OBJECTS:
        from pilotage.kit.anywhere import register

        register(subparsers, command.strip())
    else:
        import_module(f"pilotage.cli.{command}").register(subparsers)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 success, 1 failure with one line on standard error, 2 wrong usage,
    130 interrupted."""
    skip_last_collection()
    return piped(lambda: _run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    words = command_first(sys.argv[1:] if arguments is None else arguments)
    named = _command_of(words)
    options = parser(named or COMMANDS).parse_args(words)
    try:
        code = int(options.run(options) or 0)
        if code and named == [CREATE_OBJECTS]:
            _suggest_scaffold(words[1])
        return code
    except PilotageError as error:
        from pilotage.kit.console.terminal import BOLD, RED, standard_error

        terminal = standard_error()
        terminal.line(f"{terminal.styled('pilotage:', BOLD, RED)} {error}")
        return 1
    except KeyboardInterrupt:
        return 130


def _command_of(words: Sequence[str]) -> list[str]:
    """The command that the words name; none if it is unknown."""
    if words[:1] == ["create"] and len(words) > 1 and words[1] not in (*SCAFFOLDS, "-h", "--help"):
        return [CREATE_OBJECTS]
    return [word for word in words[:1] if word in COMMANDS]


def _suggest_scaffold(word: str) -> None:
    """Suggest a project command after an unknown type: `api` for `pilotage create apii Guestbook`."""
    from difflib import get_close_matches

    if meant := get_close_matches(word, SCAFFOLDS, n=1):
        print(f"did you mean `pilotage create {meant[0]}`?", file=sys.stderr)
