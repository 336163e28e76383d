"""The parser of command lines."""

from __future__ import annotations

import argparse

from pilotage.cli.help import HelpFormatter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Parser(argparse.ArgumentParser):
    """A parser that rejects unknown arguments itself, so that the usage of the right subcommand is printed.

    argparse leaves that to the outermost parser, which prints the usage of the whole command.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **({"formatter_class": HelpFormatter} | named))

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown
