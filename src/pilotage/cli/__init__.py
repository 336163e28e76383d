"""The `pilotage` command. Each subcommand is a module with `register(subparsers)`; it loads what it needs on use."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pilotage.cli import crd, demo, serve
from pilotage.errors import PilotageError


def parser() -> argparse.ArgumentParser:
    """The whole command line. A test holds the documentation against it."""
    root = argparse.ArgumentParser(prog="pilotage", description="The controller runtime for Python.")
    subparsers = root.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for module in (demo, serve, crd):
        module.register(subparsers)
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. The exit code: 0 done, 1 failed with one clear line, 2 wrong usage, 130 interrupted."""
    options = parser().parse_args(arguments)
    try:
        return int(options.run(options) or 0)
    except PilotageError as error:
        print(f"pilotage: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone: nothing is left to say
        return 0
