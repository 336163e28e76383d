"""The help of commands: paragraphs are wrapped, examples stay as they are written."""

from __future__ import annotations

import argparse
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def examples(*lines: str) -> str:
    """The end of a help text: command lines that a user can copy."""
    return "\n".join(["example:" if len(lines) == 1 else "examples:", *(f"  {line}" for line in lines)])


def add_command(
    subparsers: Any,
    name: str,
    summary: str,
    description: str,
    *lines: str,
    run: Callable[[argparse.Namespace], int] | None = None,
    parser_class: type[argparse.ArgumentParser] | None = None,
    **options: Any,
) -> argparse.ArgumentParser:
    """Add a command to a command tree, with examples of it. `options.run` of the parsed arguments is `run`.

    argparse makes all parsers of a tree with one class, that of the application. A command that reads its words in a
    way of its own has a `parser_class`, which overrides `parse_known_args`; that of the application is its base, so
    that help and errors are the application's.
    """
    theirs = subparsers._parser_class
    if parser_class is not None:
        subparsers._parser_class = type(parser_class.__name__, (parser_class, theirs), {})
    try:
        epilog = examples(*lines)
        command: argparse.ArgumentParser = subparsers.add_parser(
            name, help=summary, description=description, epilog=epilog, **options
        )
    finally:
        subparsers._parser_class = theirs
    if run is not None:
        command.set_defaults(run=run)
    return command


def terminal_columns() -> int:
    """The width of the terminal, as `shutil.get_terminal_size` has it. That module loads the compressors."""
    try:
        columns = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        columns = 0
    if columns > 0:
        return columns
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80  # type: ignore[union-attr]  # an error, then
    except (AttributeError, ValueError, OSError):  # it is closed, or not a terminal
        return 80


class _NoColors:
    def __getattr__(self, name: str) -> str:
        return ""


class HelpFormatter(argparse.HelpFormatter):
    """Keeps the lines of text that has examples, and wraps other text. Names of commands stand beside their help."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, **({"width": terminal_columns() - 2} | options))

    def _set_color(self, *_arguments: Any, **_options: Any) -> None:
        """Python 3.14 calls this. Help has no colors there either: the module that has them takes milliseconds."""
        self._theme = _NoColors()
        self._decolor = str

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            # argparse measures their names without the indentation that it prints them with.
            self._action_max_length += self._indent_increment

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """An option whose value may be left out: `--explain[=OBJECT]`."""
        text = super()._format_action_invocation(action)
        return text.replace(" [", "[=") if action.option_strings and action.nargs == "?" else text

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith(("example:\n", "examples:\n")):
            return "\n".join(f"{indent}{line}" for line in text.splitlines())
        return super()._fill_text(text, width, indent)
