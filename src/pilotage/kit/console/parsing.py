"""The parser of command lines."""

from __future__ import annotations

import argparse

from pilotage.kit.console.flags import storages
from pilotage.kit.console.help import HelpFormatter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, NoReturn


def command_first(words: Sequence[str]) -> list[str]:
    """The words with the options that select the storage or server moved after the command: kubectl accepts them before
    it, too."""
    leading, rest = leading_and_rest(words)
    command = next((number for number, word in enumerate(rest) if not word.startswith("-")), -1)
    return [*rest[: command + 1], *leading, *rest[command + 1 :]]


def leading_and_rest(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The leading options that select the storage or server, and the words after them."""
    end = 0
    while end < len(words) and (length := _leading_length(words[end])):
        end += length
    return list(words[:end]), list(words[end:])


def _leading_length(word: str) -> int:
    """How many words an option that selects the storage or server has with its value; 0 for any other word."""
    if word in storages.FLAGS:
        return 2
    if word.startswith("--"):
        return int(word.partition("=")[0] in storages.FLAGS)
    return int(word[:2] in storages.FLAGS)  # -nshop


class Parser(argparse.ArgumentParser):
    """A parser that rejects unknown arguments itself, so that the error names the right subcommand.

    argparse leaves that to the outermost parser. Errors are two lines, with what was probably meant, and not the usage
    of a command with 20 options.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **({"formatter_class": HelpFormatter} | named))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if args and any(isinstance(action, argparse._SubParsersAction) for action in self._actions):
            args = self._command_first(args)
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(unrecognized(self, unknown))
        return options, unknown

    def _command_first(self, words: Sequence[str]) -> list[str]:
        """The same for this parser, whose commands may have commands themselves: `store check`."""
        leading, rest = leading_and_rest(words)
        if leading and not rest:
            self.error(f"a command is missing after: {' '.join(leading)}")
        return rest if all(word.startswith("-") for word in rest) else command_first(words)

    def error(self, message: str) -> NoReturn:
        from pilotage.kit.console.terminal import BOLD, RED, standard_error

        terminal = standard_error()
        terminal.line(f"{self.prog}: {terminal.styled('error:', BOLD, RED)} {message}")
        terminal.line(f"See '{self.prog} --help' for usage.")
        self.exit(2)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            self.error(f'unknown command "{value}"{_suggestion(value, action.choices, 0.6)}')
        super()._check_value(action, value)


def unrecognized(parser: argparse.ArgumentParser, words: Sequence[str]) -> str:
    """The error for words that no argument of a parser takes."""
    flags = [word for word in words if word.startswith("-")]
    options = [flag for action in parser._actions for flag in action.option_strings if flag.startswith("--")]
    hint = _suggestion(flags[0].partition("=")[0], options, 0.7) if len(flags) == 1 else ""
    return f"unrecognized arguments: {' '.join(words)}{hint}"


def _suggestion(word: str, names: Iterable[str], cutoff: float) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, list(names), n=1, cutoff=cutoff)
    return f'; did you mean "{close[0]}"?' if close else ""
