"""Write the reference of the `pilotage` command, docs/cli-reference.md, from its parser.

python hack/docs/reference.py docs/cli-reference.md
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from pilotage.cli import CREATE_OBJECTS, parser

HEAD = """# Reference of the `pilotage` command

Every command with its arguments and options, as `pilotage COMMAND --help` prints them.
[The guide](cli.md) explains what the commands are for. This page is generated from the parser: `make reference`.
"""
COMMON_GROUPS = ("where it works",)
"""Groups of options that many commands share: they stand on the page once."""
UNNAMED = ("options", "positional arguments")
"""The groups that argparse makes itself."""
CODE = re.compile(r"(?<![\w`-])(--?[a-z][\w-]*|\$[A-Z_]+|[A-Z]+_[A-Z_]+)(?![\w`])")
"""Options and environment variables in the texts of the parser, which are plain."""


def page() -> str:
    root = parser()
    (objects,) = (sub for _, sub in subcommands(parser([CREATE_OBJECTS])))
    create = section(objects, "pilotage create TYPE")
    return "\n".join([HEAD, *common(root), *create, *commands(root, "pilotage")])


def commands(root: argparse.ArgumentParser, name: str) -> Iterator[str]:
    for word, command in subcommands(root):
        yield from section(command, f"{name} {word}")
        yield from commands(command, f"{name} {word}")


def subcommands(root: argparse.ArgumentParser) -> list[tuple[str, argparse.ArgumentParser]]:
    return [
        each
        for action in root._actions
        if isinstance(action, argparse._SubParsersAction)
        for each in action.choices.items()
    ]


def section(command: argparse.ArgumentParser, name: str) -> Iterator[str]:
    yield f"## {name}\n"
    if command.description:
        yield f"{marked(command.description)}\n"
    shared = []
    for group in command._action_groups:
        rows = [row(action) for action in group._group_actions if not hidden(action)]
        if group.title in COMMON_GROUPS and rows:
            shared.append(f"[{group.title}](#{group.title.replace(' ', '-')})")
        elif rows:
            heading = "" if group.title in UNNAMED else group.title or ""
            yield from table(heading, group.description or "", rows)
    if shared:
        yield f"Also the options for {' and '.join(shared)}.\n"
    if command.epilog:
        _, *lines = command.epilog.splitlines()
        yield "\n".join(["```console", *(f"$ {line.strip()}" for line in lines), "```", ""])


def common(root: argparse.ArgumentParser) -> Iterator[str]:
    for title in COMMON_GROUPS:
        groups = [each for _, command in subcommands(root) for each in command._action_groups if each.title == title]
        yield f"## {title}\n"
        yield from table("", "", list({row(action): None for each in groups for action in each._group_actions}))


def table(title: str, description: str, rows: list[str]) -> Iterator[str]:
    if description:
        yield f"{marked(description)}\n"
    yield "\n".join([f"| {title} | |", "|---|---|", *rows, ""])


def hidden(action: argparse.Action) -> bool:
    return action.help == argparse.SUPPRESS or isinstance(action, argparse._HelpAction | argparse._SubParsersAction)


def row(action: argparse.Action) -> str:
    names = [f"{name}{value(action)}" for name in action.option_strings] or [str(action.metavar or action.dest)]
    text = (action.help or "") % vars(action)
    if action.choices and action.metavar:
        text += f": {', '.join(map(str, action.choices))}"
    return f"| {', '.join(f'`{name}`' for name in names)} | {marked(text)} |"


def value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if action.nargs == "?":
        return f"[={action.metavar}]"
    return f" {action.metavar or '|'.join(action.choices or ()) or action.dest.upper()}"


def marked(text: str) -> str:
    return CODE.sub(r"`\1`", text).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page())
