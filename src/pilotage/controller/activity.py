"""The state of a controller's requests: which are unfinished, and how often each was reconciled recently."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from pilotage.controller.request import Request

STANDSTILL = 1000
"""The number of reconciles of one request at one moment of the loop's time above which they certainly trigger each
other. Real time passes between reconciles; virtual time does not, so no timeout would ever end them."""


@dataclass(slots=True)
class Unfinished:
    """A request that is retried: it failed, or returned `Result(requeue=True)`."""

    tries: int
    error: str
    """The last one, as text: the exception itself would keep the whole stack of the reconcile in memory. Empty
    where the reconciler returned `Result(requeue=True)`."""

    def __str__(self) -> str:
        if not self.error:
            return f"returned Result(requeue=True) {_times(self.tries)}"
        return f"failed {_times(self.tries)}, last with {self.error}"


class Count(msgspec.Struct, gc=False):
    """How often a request was reconciled, and when last."""

    reconciles: int = 0
    last: float = 0.0
    at_once: int = 0
    """How many of them in a row ended at the moment `last`."""
    is_delayed: bool = False
    """Whether the last one returned `requeue_after`."""


class Activity:
    """Updated by the workers of one controller. Counting takes memory for each request, so it is done on demand."""

    def __init__(self) -> None:
        self.unfinished: dict[Request, Unfinished] = {}
        self.counts: dict[Request, Count] | None = None
        self.outcomes: dict[Request, float | None] | None = None
        """The requests that were reconciled, and when each is due again, in the loop's time; None: it is finished. Kept
        only for a checkpoint."""
        self._stalled: Callable[[], None] | None = None

    def count(self, stalled: Callable[[], None]) -> None:
        """Count reconciles from now on. `stalled` is called when a request is reconciled repeatedly while the loop's
        time does not advance."""
        self.counts, self._stalled = {}, stalled

    def stop_counting(self) -> None:
        self.counts = self._stalled = None

    def record_retry(self, request: Request, error: BaseException | None) -> None:
        """The request is retried: after an error, or (None) because the reconciler returned `requeue`."""
        text = error_text(error) if error is not None else ""
        known = self.unfinished.get(request)
        if known is None or bool(known.error) != bool(text):
            self.unfinished[request] = Unfinished(1, text)
        else:
            known.tries, known.error = known.tries + 1, text
        if self.outcomes is not None:
            self.outcomes[request] = asyncio.get_running_loop().time()

    def record_success(self, request: Request) -> None:
        """The request has succeeded, or is not retried."""
        if self.unfinished:
            self.unfinished.pop(request, None)
        if self.outcomes is not None:
            self.outcomes[request] = None

    def record_due(self, request: Request, seconds: float) -> None:
        """The request has succeeded, and is due again."""
        self.record_success(request)
        if self.outcomes is not None:
            self.outcomes[request] = asyncio.get_running_loop().time() + seconds

    def forget(self, request: Request) -> None:
        """Drop a request that another replica reconciles now."""
        self.unfinished.pop(request, None)

    def record_end(self, request: Request, now: float, *, is_delayed: bool) -> None:
        """A reconcile has ended, successful or not."""
        if self.counts is None:
            return
        count = self.counts.get(request)
        if count is None:
            count = self.counts[request] = Count()
        count.reconciles += 1
        count.at_once = count.at_once + 1 if now == count.last else 1
        count.last, count.is_delayed = now, is_delayed
        if count.at_once == STANDSTILL and self._stalled is not None:
            self._stalled()


def error_text(error: BaseException) -> str:
    """An error as one line."""
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    return f"{text}: {error_text(error.exceptions[0])}" if isinstance(error, BaseExceptionGroup) else text


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
