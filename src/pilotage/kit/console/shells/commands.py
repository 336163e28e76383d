"""The commands of a parser as plain data, from which the scripts for shells are written."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from pilotage.kit.console.flags import storages

_LEADING = frozenset(storages.FLAGS)


class Values(Enum):
    """What a shell can suggest for a value."""

    TEXT = "nothing"
    FILE = "files"
    FOLDER = "folders"
    PROGRAM = "Python files"
    OBJECT = "what the storage or server has: types, names of objects, namespaces"


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command: `-f`, `--filename`."""

    flags: tuple[str, ...]
    help: str
    values: Values | None = None
    """None: it takes no value."""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A command with its options, arguments and subcommands."""

    words: tuple[str, ...]
    """`("pilotage", "device", "get")`."""
    help: str
    options: tuple[Option, ...] = ()
    arguments: Values = Values.TEXT
    choices: tuple[str, ...] = ()
    """The values of its argument, if they are known."""
    subcommands: tuple[Command, ...] = field(default=())

    @property
    def name(self) -> str:
        return " ".join(self.words)

    @property
    def program(self) -> str:
        return self.words[0]

    @property
    def function(self) -> str:
        """The name of the program in names of shell functions."""
        return re.sub(r"\W", "_", self.words[0])

    def all(self) -> Iterator[Command]:
        """This one and all below it."""
        yield self
        for command in self.subcommands:
            yield from command.all()


def described(parser: argparse.ArgumentParser, words: tuple[str, ...] = ("pilotage",), about: str = "") -> Command:
    """The commands of a parser."""
    options = tuple(_option(parser, action) for action in parser._actions if action.option_strings)
    positional = [action for action in parser._actions if not action.option_strings]
    nested = [action for action in positional if isinstance(action, argparse._SubParsersAction)]
    if nested:
        helps = {choice.dest: choice.help or "" for choice in nested[0]._choices_actions}
        choices = nested[0].choices.items()
        below = tuple(described(each, (*words, name), helps.get(name, "")) for name, each in choices)
        return Command(words, about, (*options, *_leading_options(below)), subcommands=below)
    first = positional[0] if positional else None
    if first is None:
        return Command(words, about, options)
    return Command(words, about, options, _values(first), tuple(map(str, first.choices or ())))


def _leading_options(commands: Iterable[Command]) -> tuple[Option, ...]:
    """The options of these commands that select a storage or server: they may stand before the command."""
    found = {each.flags: each for command in commands for each in command.options if set(each.flags) <= _LEADING}
    return tuple(found.values())


def _option(parser: argparse.ArgumentParser, action: argparse.Action) -> Option:
    about = parser._get_formatter()._expand_help(action) if action.help else ""
    if action.nargs == 0:
        return Option(tuple(action.option_strings), about)
    choices = action.choices or getattr(action, "suggestions", ()) or ()
    return Option(tuple(action.option_strings), about, _values(action), tuple(map(str, choices)))


def _values(action: argparse.Action) -> Values:
    if getattr(action, "suggestions", ()) is None:
        return Values.OBJECT
    name = action.metavar if isinstance(action.metavar, str) else ""
    if name in ("DIR", "FOLDER"):
        return Values.FOLDER
    if name.startswith("TYPE") and not action.option_strings:
        return Values.OBJECT
    if name == "TARGET" or name.startswith("MODULE"):
        return Values.PROGRAM
    return Values.FILE if action.type is Path or name == "FILE" else Values.TEXT
