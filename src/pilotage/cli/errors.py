"""How a command fails: with one line that says what is wrong and what to do about it."""

from __future__ import annotations

from pilotage.errors import PilotageError


class CommandError(PilotageError):
    """What the command was given cannot be used."""
