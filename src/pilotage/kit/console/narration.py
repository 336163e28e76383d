"""What the reconcilers of a program do, on a terminal, while it runs: `pilotage run --explain`.

The log lines of a reconcile are with its other lines, and the lines about the machinery are left out: a controller that
starts is no news to the person who has started it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from pilotage.history.history import History
from pilotage.history.logs import event_text
from pilotage.history.narration.layout import laid_out
from pilotage.history.narration.narrative import log_word
from pilotage.history.narration.narrator import Narrator, Paragraph
from pilotage.history.narration.selection import selected
from pilotage.history.runs import CURRENT
from pilotage.history.text import Line
from pilotage.kit.console.terminal import BOLD, CYAN, DIM, GREEN, RED, YELLOW, Terminal
from pilotage.telemetry.console import program_lines
from pilotage.telemetry.lines import event_of, traceback_of
from pilotage.telemetry.logs import filtered

BLUE, MAGENTA = "34", "35"
_STYLES = {
    "at": (DIM,),
    "number": (BOLD,),
    "controller": (BLUE,),
    "object": (CYAN,),
    "because": (MAGENTA,),
    "and": (MAGENTA,),
    "wrote": (GREEN,),
    "event": (GREEN,),
    "missing": (YELLOW,),
    "failed": (RED,),
    "error": (RED,),
    "critical": (RED,),
    "warning": (YELLOW,),
    "more": (YELLOW,),
}
"""Styles by role; a word without one, such as `log` or `result`, is dim."""
_FAILED = "Reconciler error"
_MACHINERY = {"controller", "lifecycle", "runningsources", "shutdown"}
"""The modules that log the starts and the stops of a manager and its controllers."""
_FORMATTER = logging.Formatter()


@contextmanager
def narrated(history: History, terminal: Terminal, only: str = "", *, detailed: bool = False) -> Iterator[None]:
    """Show the reconciles of a history in the block: of all objects, or those that `only` names. `detailed`: with the
    lines about the machinery, and with whole tracebacks."""
    narration = Narration(history, terminal, only, detailed=detailed)
    try:
        with filtered(narration.is_logged):
            yield
    finally:
        narration.close()


class Narration:
    """The paragraphs of a narrator on a terminal, and the log lines that belong to them."""

    def __init__(self, history: History, terminal: Terminal, only: str = "", *, detailed: bool = False) -> None:
        self._terminal = terminal
        self._detailed = detailed
        self._narrator = Narrator(history, self._write, selected(only), has_logs=True)

    def close(self) -> None:
        self._narrator.close()

    def is_logged(self, record: logging.LogRecord) -> bool:
        """Whether a line is to be logged: no paragraph shows it, and it is not about the machinery."""
        run = CURRENT.get()
        if run is None:
            return self._detailed or not _is_machinery(record)
        if record.name == "pilotage.controller" and event_of(record).message == _FAILED:
            return not self._narrator.raised(self._code(record))
        line = Line(log_word(record.levelname), event_text(record, run.request))
        return not self._narrator.log(line, self._code(record))

    def _code(self, record: logging.LogRecord) -> list[str]:
        """The lines of code of the error of a record."""
        if not record.exc_info or record.exc_info[1] is None:
            return []
        lines = [] if self._detailed else program_lines(record.exc_info[1])
        return lines or traceback_of(_FORMATTER, record).split("\n")

    def _write(self, paragraph: Paragraph) -> None:
        columns = self._terminal.columns if self._terminal.isatty() else 0
        lines = laid_out(paragraph, columns, self._styled)
        self._terminal.write("".join(f"{line}\n" for line in lines))
        self._terminal.flush()

    def _styled(self, text: str, role: str) -> str:
        return self._terminal.styled(text, *_STYLES.get(role, (DIM,)))


def _is_machinery(record: logging.LogRecord) -> bool:
    """Whether a line is about a start or a stop of the runtime; a signal, and a stop that waits, are news."""
    is_ours = record.name in ("pilotage.controller", "pilotage.manager") and record.module in _MACHINERY
    fields = event_of(record).fields
    return is_ours and record.levelno <= logging.INFO and not (fields.get("active") or "signal" in fields)
