"""The tenure of a lease: from a successful renewal until `renew_deadline` after it was *sent*.

Leader election and shards both hold a lease that must be renewed in time; this is the part that they share. The loop
that renews may run in another thread than the code that asks whether the lease is held.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from pilotage.errors import PilotageError
from pilotage.manager.election.reachability import Reachability
from pilotage.manager.election.resourcelock import LeaseTimings
from pilotage.manager.errors import LeaderElectionLost
from pilotage.rest.refusal import MissingPermission

T = TypeVar("T")


class Tenure:
    """Whether a lease is held. It begins with `extend`, and ends by itself."""

    def __init__(
        self,
        lease: str,
        timings: LeaseTimings,
        reachability: Reachability,
        now: Callable[[], float],
        obstacle: Callable[[], str],
    ) -> None:
        """`lease` names it. `now` is the clock of deadlines. `obstacle` is called before each renewal and returns why
        this process must give the lease up; empty: it may keep it."""
        self._lease = lease
        self._timings = timings
        self._reachability = reachability
        self._now = now
        self._obstacle = obstacle
        self.deadline = -math.inf
        """When it ends, in the seconds of `now`."""

    @property
    def is_over(self) -> bool:
        return self._now() >= self.deadline

    @property
    def missing_permission(self) -> MissingPermission | None:
        """The permission without which the lease cannot be read or written; None where it can."""
        return self._reachability.missing

    def extend(self, sent: float) -> None:
        """A renewal that was sent at this time has succeeded."""
        # `renew_deadline` is shorter than `lease_duration`, which others count from the write: this process stops
        # first.
        self.deadline = sent + self._timings.renew_deadline

    def end(self) -> None:
        """The lease is lost or released."""
        self.deadline = -math.inf

    def check(self) -> None:
        """The check of a fence: refuse a write of a former holder."""
        if self.is_over:
            raise self.refusal()

    def refusal(self) -> LeaderElectionLost:
        """The error for a write of a former holder."""
        return LeaderElectionLost(f"this process no longer holds the lease {self._lease}; nothing was written")

    def remaining(self) -> asyncio.Timeout:
        """A block that ends with TimeoutError at the deadline."""
        return asyncio.timeout(max(0.0, self.deadline - self._now()))

    def end_reason(self) -> str:
        """Why the deadline has passed."""
        return f"it was not renewed within renew_deadline{self._reachability.because}"

    def hindrance(self) -> str:
        """Why it must not be renewed; empty: it may. TimeoutError if it is over."""
        if self.is_over:
            raise TimeoutError  # after a pause of the process, this task may run before the timeout does
        obstacle = self._obstacle()
        return f"it is not renewed: {obstacle}" if obstacle else ""

    async def attempt(self, work: Coroutine[Any, Any, T], *, final: tuple[type[Exception], ...] = ()) -> T | None:
        """Read or write the lease, in the time of one attempt. Returns the result; None after a failure, which is
        logged.

        Errors of the classes `final` are raised: another attempt cannot succeed.
        """
        try:
            async with asyncio.timeout(self._timings.request_timeout):
                found = await work
        except final:
            raise
        except (PilotageError, OSError, TimeoutError) as error:
            self._reachability.note_failure(error)
            return None
        self._reachability.note_success()
        return found
