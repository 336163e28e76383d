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
from pilotage.kit.console.help import examples
from pilotage.kit.console.parsing import Parser, command_first
from pilotage.kit.console.process import piped, skip_last_collection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OBJECT_COMMANDS = tuple(name for name in arguments.COMMANDS if name != "create")
"""The subcommands that work on objects, from `pilotage.kit`. (`create` is another one, of projects.)"""
COMMANDS = (
    *(
        "init",
        "create",
        "run",
        "replay",
        "demo",
        "serve",
        "why",
        "ui",
        "device",
        "crd",
        "types",
        "manifests",
        "rbac",
        "store",
        "tenants",
    ),
    *OBJECT_COMMANDS,
    "completion",
)
"""The subcommands in the order of the help; each is a module of this package, or one of the kit."""
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
    root.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    subparsers = root.add_subparsers(title="commands", required=True, metavar="COMMAND", prog=root.prog)
    for command in commands:
        _register(command, subparsers)
    return root


def _register(command: str, subparsers: Any) -> None:
    if command in OBJECT_COMMANDS or command == CREATE_OBJECTS:
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


class _Version(argparse.Action):
    """Looks up the version only when `--version` is given: the lookup is slower than the rest of the command line."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from pilotage.version import installed_version

        print("pilotage", installed_version("(run from its source, not installed)"))
        parser.exit()
