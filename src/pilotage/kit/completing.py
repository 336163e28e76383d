"""Completion: the types of a server or storage, the names of objects, namespaces and tenants, for scripts of shells."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from pilotage.kit.arguments.flags import Arguments, Command, Selection
from pilotage.kit.console.flags import storages
from pilotage.kit.console.parsing import command_first, leading_and_rest
from pilotage.kit.execution import Program, execute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class NamesArguments(Selection):
    """A line that is not finished."""

    command: str
    """The command that it begins with."""
    current: str
    """The word at the cursor."""
    value_of: str
    """The option whose value that is; empty for an argument."""


NAMES = Command("names", arguments=NamesArguments)
_WHERE = tuple(flag[2:].replace("-", "_") for flag in storages.FLAGS if flag.startswith("--"))


def print_objects(program: Program, parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Print what may be the last word of a command line, the one at the cursor, one word a line. The line begins with
    the command, or with the options that select the storage or server."""
    words = list(_joined(words))
    typed = bool(leading_and_rest(words[:-1])[1])
    # At the value of an option before the command, as in `-n TAB`, it is read as of `get`, which takes all of these.
    name, *rest = command_first(words) if typed else ["get", *words]
    command = _commands(parser).get(name)
    read = _read(command, rest) if command is not None else None
    if read is None or not (typed or read.value_of):
        return 0
    options = {**dict.fromkeys(_WHERE, ""), **vars(read)}
    if read.value_of == "tenant":
        return _print_tenants(program.facts(Arguments(**options)).where.storage)
    options["tenant"] = options["tenant"] or "default"
    return execute(program, NAMES, argparse.Namespace(**options, command=name))


def _print_tenants(storage: str) -> int:
    import asyncio

    from pilotage.kit.routes.tenancy import tenants_of

    for name in asyncio.run(tenants_of(storage)) if storage else ():
        print(name)
    return 0


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    nested = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(nested[0].choices) if nested else {}


def _joined(words: Sequence[str]) -> Iterator[str]:
    """The words as they were typed: bash divides `--storage=sqlite:a.db` at its equals signs and colons."""
    whole = ""
    for number, word in enumerate(words):
        before = words[number - 1] if number else ""
        if whole and not {word, before}.isdisjoint(("=", ":")):
            whole += word
            continue
        if number:
            yield whole
        whole = word
    if words:
        yield whole


def _read(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """The arguments of a line that is not finished, and may have mistakes: `resources`, `current`, the word at the
    cursor, `value_of`, the option whose value that is, and the options that select the storage or server."""
    actions = {flag: action for action in parser._actions for flag in action.option_strings}
    resources: list[str] = []
    found: dict[str, Any] = {}
    pending: argparse.Action | None = None
    for word in words[:-1]:
        flag, joint, value = _option_and_value(word)
        action = actions.get(flag)
        if pending is not None:
            found[pending.dest], pending = word, None
        elif action is None:
            resources += [] if word.startswith("-") else [word]
        elif action.nargs == 0:
            found[action.dest] = True
        elif joint:
            found[action.dest] = value
        else:
            pending = action
    current = words[-1] if words else ""
    flag, equals, value = current.partition("=")
    if pending is None and equals and flag in actions:
        pending, current = actions[flag], value
    return argparse.Namespace(
        **{name: text for name, text in found.items() if name in (*_WHERE, "all_namespaces")},
        resources=resources,
        current=current,
        value_of=pending.dest if pending is not None else "",
    )


def _option_and_value(word: str) -> tuple[str, bool, str]:
    """An option, and whether the value is in the same word: `--namespace=shop`, `-nshop`, `-n=shop`."""
    if word.startswith("--"):
        flag, equals, value = word.partition("=")
        return flag, bool(equals), value
    return word[:2], len(word) > 2, word[2:].removeprefix("=")
