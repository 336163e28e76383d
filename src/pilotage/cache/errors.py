"""What a cache cannot do for a caller."""

from __future__ import annotations

from asyncio import CancelledError

from pilotage.errors import PilotageError


class CacheNotStarted(PilotageError):
    """The cache was read before it was started: nothing would ever arrive in it."""


class NotCached(PilotageError):
    """What was asked for is not among the things that are cached: a kind without an informer, or a namespace."""


USER_FAILURES = (Exception, CancelledError, SystemExit)
"""What a function of the user's that does not wait may fail with. A CancelledError comes from something that it looked
at, and must not be taken for a cancellation of the task that called it, which would end without a word; and a library
that calls sys.exit() must not end the program."""
