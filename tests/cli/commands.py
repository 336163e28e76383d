"""The commands of the command line, for tests that hold for each of them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from pilotage.cli import parser


def commands(root: argparse.ArgumentParser, name: str = "pilotage") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in root._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, sub in action.choices.items():
                yield f"{name} {word}", sub
                yield from commands(sub, f"{name} {word}")


COMMANDS = dict(commands(parser()))
