"""The errors of commands: one line with what is wrong and what to do."""

from __future__ import annotations

from pilotage.errors import PilotageError


class CommandError(PilotageError):
    """An argument, a file or an address that the command cannot use."""


class UsageError(CommandError):
    """A command line that lacks an argument, or has two that contradict each other."""


class Interrupted(PilotageError):
    """A signal ended the command before it was finished."""


class NotReconciled(PilotageError):
    """What was written is stored, but not everything was reconciled; the message lists the pending work."""


FAILED = 1
"""The exit code of a command that has failed."""
WRONG_USAGE = 2
"""The exit code of a command line that cannot be used, as argparse has it."""
NOT_RECONCILED = 5
"""The exit code of a command that has written, but not everything was reconciled."""
INTERRUPTED = 130
"""The exit code of a command that a signal has ended."""
