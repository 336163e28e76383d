"""The error of a command: one line with what is wrong and what to do."""

from __future__ import annotations

from pilotage.errors import PilotageError


class CommandError(PilotageError):
    """An argument, a file or an address that the command cannot use."""


INTERRUPTED = 130
"""The exit code of a command that a signal has ended."""
