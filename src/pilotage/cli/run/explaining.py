"""Whether a run explains its reconciles: with `--explain`, and by default on a terminal."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, nullcontext

from pilotage.cli.run.arguments import Flags
from pilotage.cli.run.flags import NO, YES
from pilotage.history.history import History
from pilotage.kit.console.narration import narrated
from pilotage.kit.console.terminal import Terminal
from pilotage.telemetry import levels


def explained(flags: Flags, *, is_terminal: bool) -> str | None:
    """The object whose reconciles are explained; empty: all. None: they are not."""
    text = flags.explain
    if text is None:
        is_quiet = levels.parsed(flags.log_level) > logging.INFO
        return "" if is_terminal and flags.log_format == "text" and not is_quiet and flags.processes is None else None
    if text.lower() in NO:
        return None
    return "" if text.lower() in ("all", *YES) else text


def explaining(history: History, flags: Flags, terminal: Terminal) -> AbstractContextManager[None]:
    """Show the reconciles in the block, if the run explains them."""
    only = explained(flags, is_terminal=terminal.isatty())
    if only is None:
        return nullcontext()
    return narrated(history, terminal, only, detailed=is_detailed(flags))


def is_detailed(flags: Flags) -> bool:
    """Whether tracebacks are shown whole, and the lines about the machinery."""
    return flags.traceback or levels.parsed(flags.log_level) < logging.INFO
