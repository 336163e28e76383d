"""The log while reconcilers run: into the file of the tool, and on the terminal with `--log-level`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from pilotage.cli.errors import CommandError
from pilotage.cli.kit.logfile import LogFile
from pilotage.cli.terminal import Terminal
from pilotage.telemetry import levels
from pilotage.telemetry.console import ConsoleFormatter
from pilotage.telemetry.logs import configure_logging


@contextmanager
def logged(file: LogFile, level: str, terminal: Terminal) -> Iterator[None]:
    """Send all logging from `info` on to the file; from `level` on, if it is given, to the terminal, too."""
    try:
        shown = levels.parsed(level) if level else None
    except ValueError as error:
        raise CommandError(f"--log-level: {error}") from error
    configure_logging(min(shown or logging.INFO, logging.INFO), file, json=True)
    if shown is None:
        yield
        return
    handler = logging.StreamHandler(terminal)
    handler.setLevel(shown)
    handler.setFormatter(ConsoleFormatter(colours=terminal.colours))
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
