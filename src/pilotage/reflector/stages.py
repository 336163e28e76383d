"""Stages: what follows a list or a watch that failed, decided from plain values.

The rules are those of client-go's reflector, with one difference: a watch that fails with 5xx or breaks is first opened
again at the same version, because a list costs the server more. After `FRUITLESS` watches in a row that brought
nothing, the collection is listed, and again after each further one until a watch works.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from pilotage.errors import (
    ApiError,
    BadRequest,
    ConnectionLost,
    DecodeError,
    Gone,
    Invalid,
    MethodNotSupported,
    PilotageError,
    TooManyRequests,
)
from pilotage.reflector.silence import Silent

SHORT_SECONDS = 1.0
FRUITLESS = 3
AT_ONCE_SECONDS = 30.0
"""A forgotten version is listed again at once, but no more often than this: a server that forgets every version would
be asked without pause otherwise."""


class ShortWatch(PilotageError):
    """A watch ended at once, and had not come further."""


class Stage(enum.Enum):
    """What the next step is."""

    LIST = "list"
    STREAM = "stream"
    """A watch that begins with the whole collection."""
    WATCH = "watch"


@dataclass(slots=True)
class Attempt:
    """One watch: how far it came."""

    begun: float
    version: str
    """Where it began."""
    opened: bool = False
    eventful: bool = False
    """Whether an event of the collection came: an object or a bookmark, not an ERROR."""
    error_event: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do about a failure, besides going on with the next stage."""

    told: bool = True
    pause: bool = True


@dataclass(slots=True)
class Course:
    """Where the stream stands: which stage is next, at which version, and how often watches brought nothing."""

    streaming: bool
    version: str = "0"
    stage: Stage = field(init=False)
    doubtful: bool = False
    """The last watch that was opened was over at once, and the next one may be too."""
    fruitless: int = 0
    """Watches in a row that brought nothing."""
    _at_once_after: float = float("-inf")

    def __post_init__(self) -> None:
        self.stage = self._beginning()

    def listed(self, version: str) -> None:
        """The collection was listed at a version."""
        self.stage, self.version = Stage.WATCH, version

    def at_newest(self, error: Exception) -> bool:
        """Whether a list failed because of its version, and is to be tried at once without one."""
        if self.version and (isinstance(error, Gone) or _too_large(error)):
            self.version = ""
            return True
        return False

    def ended(self, attempt: Attempt, now: float) -> None:
        """A watch ended as watches do. Raises ShortWatch where that came too soon."""
        if self._was_vain(attempt, now):
            raise ShortWatch(f"the watch ended within {SHORT_SECONDS:g} s at the version where it began")
        self.fruitless, self.doubtful = 0, False

    def failed(self, error: Exception, attempt: Attempt, now: float) -> Verdict:
        """Decide what follows a watch that failed: the same again, or another list."""
        self._count(error, attempt, now)
        if self.stage is Stage.STREAM:
            return self._stream_failed(error)
        if isinstance(error, Gone) or _too_large(error):
            if _too_large(error):
                self.version = ""
            self.stage = self._beginning()
            return Verdict(pause=not self._may_list_at_once(now))
        if not self._resumable(error, attempt):
            self.stage = self._beginning()
        return Verdict(pause=not isinstance(error, Silent))  # silence was wait enough

    def _count(self, error: Exception, attempt: Attempt, now: float) -> None:
        if attempt.opened:
            self.doubtful = self._was_vain(attempt, now)
        if attempt.eventful and not isinstance(error, ShortWatch):
            self.fruitless = 0
        elif not _is_refusal(error):
            self.fruitless += 1

    def _was_vain(self, attempt: Attempt, now: float) -> bool:
        """Whether a watch was over at once, and had not come further."""
        return now - attempt.begun < SHORT_SECONDS and self.version == attempt.version

    def _stream_failed(self, error: Exception) -> Verdict:
        if self.version not in ("", "0") and (isinstance(error, Gone) or _too_large(error)):
            self.version = ""
            return Verdict(pause=False)
        if _is_refusal(error):
            return Verdict()
        self.stage = Stage.LIST
        if isinstance(error, Invalid | BadRequest | MethodNotSupported):
            self.streaming = False  # this server cannot do it, and will not learn
            return Verdict(told=False, pause=False)
        return Verdict(pause=False)  # the list will meet the same trouble, if it is still there, and pause

    def _resumable(self, error: Exception, attempt: Attempt) -> bool:
        """Whether to open the watch again at the same version: the server will say if it has forgotten it."""
        if _is_refusal(error):
            return True
        if isinstance(error, ConnectionLost | ShortWatch | DecodeError):
            return self.fruitless < FRUITLESS
        unavailable = isinstance(error, ApiError) and error.status.code >= 500
        return unavailable and not attempt.error_event and self.fruitless < FRUITLESS

    def _beginning(self) -> Stage:
        # A server whose watches bring nothing would not bring the collection by one either.
        return Stage.STREAM if self.streaming and self.fruitless < FRUITLESS else Stage.LIST

    def _may_list_at_once(self, now: float) -> bool:
        if now < self._at_once_after:
            return False
        self._at_once_after = now + AT_ONCE_SECONDS
        return True


def _is_refusal(error: Exception) -> bool:
    """Whether the server takes nothing now, neither watches nor lists: another list would not help."""
    return isinstance(error, TooManyRequests) or (isinstance(error, ConnectionLost) and not error.sent)


def _too_large(error: Exception) -> bool:
    """Whether the server has not come to the version yet: it was set back, or another one answers."""
    return isinstance(error, ApiError) and any(cause.reason == "ResourceVersionTooLarge" for cause in error.causes)
