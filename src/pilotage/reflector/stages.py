"""Stages: the next step after a list or a watch that failed, decided from plain values.

The rules are the rules of client-go's reflector, with one difference: a watch that fails with 5xx or breaks is first
opened again at the same version, because a list costs the server more. After `MAX_UNPRODUCTIVE` watches in a row
without an event the collection is listed, and again after each further one, until a watch works.

    STREAM: initial events complete -> WATCH; version expired, or all requests refused -> STREAM; other failure -> LIST
    LIST:   listed -> WATCH; failed -> LIST
    WATCH:  ended, or failed and can resume -> WATCH at the last version; otherwise -> STREAM or LIST

A collection begins with STREAM if its server supports it, else with LIST.
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
"""client-go's limit: a watch that ends sooner, without a new version, counts as a failure."""
MAX_UNPRODUCTIVE = 3
AT_ONCE_SECONDS = 30.0
"""An expired version leads to a list without a wait, but no more often than this. Otherwise a server whose versions
expire at once would be listed in a loop."""


class ShortWatch(PilotageError):
    """A watch ended at once, at the version where it began."""


class Stage(enum.Enum):
    """What the next step is."""

    LIST = "list"
    STREAM = "stream"
    """A watch that begins with the whole collection."""
    WATCH = "watch"


@dataclass(slots=True)
class Attempt:
    """One watch and its result."""

    begun: float
    version: str
    """The version at which it began."""
    opened: bool = False
    eventful: bool = False
    """Whether an object or a bookmark arrived; an ERROR event does not count."""
    progressed: bool = False
    """Whether it has reached a newer version than the one at which it began."""
    error_event: bool = False


@dataclass(frozen=True, slots=True)
class Reaction:
    """What to do about a failure before the next stage."""

    report: bool = True
    wait: bool = True
    is_first: bool = False
    """Whether the watch had worked: the waits of earlier failures do not count."""


@dataclass(slots=True)
class WatchState:
    """The next stage, its version, and the number of watches without an event."""

    streaming: bool
    """Whether the list may be the beginning of a watch."""
    # As in client-go, the server may answer the first list from its watch cache, at any version.
    version: str = "0"
    stage: Stage = field(init=False)
    doubtful: bool = False
    """The last open watch ended at once, and the next one may too."""
    unproductive: int = 0
    """Watches in a row without an event."""
    _next_list_at_once: float = float("-inf")

    def __post_init__(self) -> None:
        self.stage = self._first_stage()

    @property
    def expires_at_once(self) -> bool:
        """Whether versions seem to expire as soon as they are listed, and not because the server was restarted."""
        return self.doubtful or self.unproductive > 1

    def record_list(self, version: str) -> None:
        """Record a list at a version."""
        self.stage, self.version = Stage.WATCH, version

    def retry_at_newest(self, error: Exception) -> bool:
        """Drop the version if a list failed because of it; True: list again at once."""
        # client-go's rule, so that the reflector makes progress: only the newest version is certain to be served.
        if self.version and (isinstance(error, Gone) or _is_too_large(error)):
            self.version = ""
            return True
        return False

    def record_end(self, attempt: Attempt, now: float) -> None:
        """Record the normal end of a watch. Raises ShortWatch if it was too soon."""
        if self._was_over_at_once(attempt, now):
            raise ShortWatch(f"the watch ended within {SHORT_SECONDS:g} s at the version where it began")
        self.unproductive, self.doubtful = 0, False

    def record_failure(self, error: Exception, attempt: Attempt, now: float) -> Reaction:
        """Record the failure of a watch, and choose the next stage."""
        # First: the choices below depend on how many watches have failed.
        self._count(error, attempt, now)
        if self.stage is Stage.STREAM:
            return self._record_stream_failure(error)
        if isinstance(error, Gone) or _is_too_large(error):
            if _is_too_large(error):
                self.version = ""  # a list at this version would fail in the same way
            # Else the version is kept, and the list requested not older than it: the cache must not go back in time,
            # which a list from the watch cache of another API server would do (client-go's relistResourceVersion).
            self.stage = self._first_stage()
            return Reaction(wait=not self._may_list_at_once(now))
        is_resumable = self._is_resumable(error, attempt)
        if not is_resumable:
            self.stage = self._first_stage()
        return Reaction(
            wait=not isinstance(error, Silent),  # the silence itself was the wait
            # A list costs the server more than a watch, and 429 asks for patience: these waits grow on.
            is_first=attempt.progressed and is_resumable and not _is_refusal(error),
        )

    def _count(self, error: Exception, attempt: Attempt, now: float) -> None:
        if attempt.opened:
            self.doubtful = self._was_over_at_once(attempt, now)
        if attempt.eventful and not isinstance(error, ShortWatch):
            self.unproductive = 0
        elif not _is_refusal(error):  # a server that is down or overloaded proves nothing about its watches
            self.unproductive += 1

    def _was_over_at_once(self, attempt: Attempt, now: float) -> bool:
        return now - attempt.begun < SHORT_SECONDS and self.version == attempt.version

    def _record_stream_failure(self, error: Exception) -> Reaction:
        if self.version not in ("", "0") and (isinstance(error, Gone) or _is_too_large(error)):
            self.version = ""
            return Reaction(wait=False)
        if _is_refusal(error):
            return Reaction()
        self.stage = Stage.LIST
        # kube-apiserver refuses the parameters with 422 where its feature gate WatchList is off.
        if isinstance(error, Invalid | BadRequest | MethodNotSupported):
            self.streaming = False  # the server does not support it: not requested again
            return Reaction(report=False, wait=False)
        return Reaction(wait=False)  # if the cause persists, the list fails too and waits

    def _is_resumable(self, error: Exception, attempt: Attempt) -> bool:
        """Whether to open the watch again at the same version: if it has expired, the server answers with 410."""
        if _is_refusal(error):
            return True
        if isinstance(error, ConnectionLost | ShortWatch | DecodeError):
            # Not for ever: a proxy that cuts every watch, or a version that the server cannot resume from, would
            # otherwise leave the cache stale without end. A list makes progress.
            return self.unproductive < MAX_UNPRODUCTIVE
        # After an ERROR event client-go lists, too: the server has accepted the watch, and cannot continue it.
        unavailable = isinstance(error, ApiError) and error.status.code >= 500
        return unavailable and not attempt.error_event and self.unproductive < MAX_UNPRODUCTIVE

    def _first_stage(self) -> Stage:
        # A server whose watches deliver nothing would not deliver the collection by a watch either.
        return Stage.STREAM if self.streaming and self.unproductive < MAX_UNPRODUCTIVE else Stage.LIST

    def _may_list_at_once(self, now: float) -> bool:
        if now < self._next_list_at_once:
            return False
        self._next_list_at_once = now + AT_ONCE_SECONDS
        return True


def _is_refusal(error: Exception) -> bool:
    """Whether the server accepts no requests now: a list would be refused as well as the watch."""
    return isinstance(error, TooManyRequests) or (isinstance(error, ConnectionLost) and not error.sent)


def _is_too_large(error: Exception) -> bool:
    """Whether the server has not reached the version: it was restored from a backup, or another server answers."""
    return isinstance(error, ApiError) and any(cause.reason == "ResourceVersionTooLarge" for cause in error.causes)
