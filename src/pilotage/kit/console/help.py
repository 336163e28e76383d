"""The help of commands: paragraphs are wrapped, examples stay as they are written."""

from __future__ import annotations

import argparse
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
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

    argparse makes all parsers of a tree with one class, the class of the application. A command that reads its words in
    a way of its own has a `parser_class`, which overrides `parse_known_args`; the class of the application is its base,
    so that help and errors are the application's.
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


def add_help(subparsers: Any, program: str, parser: Callable[[Sequence[str]], argparse.ArgumentParser]) -> None:
    """Add the command `help`; `parser` returns the parser of the commands with these names, or of all."""

    def run(options: argparse.Namespace) -> int:
        try:
            parser(options.words[:1]).parse_args([*options.words, "--help"])
        except SystemExit as ended:  # argparse has printed it, or what is wrong
            return int(ended.code or 0)
        return 0

    description = "Print the help of a command, or of all."
    command = add_command(subparsers, "help", "print the help of a command", description, f"{program} help", run=run)
    command.add_argument("words", nargs="*", metavar="COMMAND", help="the command, with those below it")


def add_version(parser: argparse.ArgumentParser, text: str) -> None:
    """Add the flag `--version`, which prints a text, with the version of Pilotage in the place of `{}`."""
    parser.add_argument("--version", action=_Version, nargs=0, const=text, help="print the version and exit")


class _Version(argparse.Action):
    """Looks up the version only when it is wanted: the lookup is slower than the rest of the command line."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from pilotage.version import installed_version

        print(str(self.const).format(installed_version("(run from its source, not installed)")))
        parser.exit()


def grouped(subparsers: Any, groups: Mapping[str, Iterable[str]]) -> None:
    """Give the commands in a help the headings of their groups, which have the names of commands in their order."""
    left = {action.dest: action for action in subparsers._choices_actions}
    for title, names in groups.items():
        shown = [left.pop(name) for name in names if name in left]
        for action in shown[:1]:
            action.heading = title


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

    def _format_action(self, action: argparse.Action) -> str:
        heading = getattr(action, "heading", "")
        text = super()._format_action(action)
        return f"\n{' ' * (self._current_indent - self._indent_increment)}{heading}:\n{text}" if heading else text

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
