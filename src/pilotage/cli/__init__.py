"""The `pilotage` command. Each subcommand is a module with `register(subparsers)`; what is heavy loads when it runs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from pilotage.cli import crd, demo, device, manifests, serve
from pilotage.errors import PilotageError


def parser() -> argparse.ArgumentParser:
    """The whole command line. A test holds the documentation against it."""
    root = _Parser(
        prog="pilotage",
        description="Kubernetes-style resources from Python classes, with an API server of their own.",
        epilog="`pilotage COMMAND --help` says more about each.",
    )
    root.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    subparsers = root.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for module in (demo, serve, device, crd, manifests):
        module.register(subparsers)
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. The exit code: 0 done, 1 failed with one clear line, 2 wrong usage, 130 interrupted."""
    try:
        try:
            return _run(arguments)
        finally:
            sys.stdout.flush()  # here, where a reader that has gone can be told from a failure
    except BrokenPipeError:
        # The reader of our output has gone: nothing is left to say, and the interpreter must not try to at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(arguments: Sequence[str] | None) -> int:
    options = parser().parse_args(arguments)
    try:
        return int(options.run(options) or 0)
    except PilotageError as error:
        print(f"pilotage: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


class _Parser(argparse.ArgumentParser):
    """A parser that refuses what it does not know itself, so that the usage shown is that of the command in question.

    argparse leaves that to the outermost parser, which shows the usage of the whole.
    """

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown


class _Version(argparse.Action):
    """Looks the version up only when it is asked for: that costs more than all the rest of the command line."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"pilotage {version('pilotage')}")
        except PackageNotFoundError:
            print("pilotage (run from its source, not installed)")
        parser.exit()
