"""The errors of a manager, by what a caller can do about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pilotage.errors import PilotageError

if TYPE_CHECKING:
    from pilotage.rest.refusal import MissingPermission


class AlreadyStarted(PilotageError):
    """The manager was started before: create another one, or make the call before the start."""


class ManagerStopped(PilotageError):
    """The manager is stopping or has stopped; it accepts nothing more and cannot be started again."""


class ShuttingDown(PilotageError):
    """No new work is accepted: the program is shutting down. Do it after the next start."""


class AddressUnavailable(PilotageError):
    """An endpoint cannot bind to its address: choose another address."""


class RunnableCancelled(PilotageError):
    """A runnable ended because it was cancelled, and not by the manager."""


class LeaderElectionLost(PilotageError):
    """This process no longer holds the lease. What only a leader may do has been cancelled; the process should end."""


class CacheNotLive(PilotageError):
    """A cache is not synced, or one of its watches is not alive. `state` names the kinds."""

    def __init__(self, troubles: Mapping[str, str]) -> None:
        self.state = tuple(sorted(troubles))
        super().__init__("; ".join(f"{kind}: {troubles[kind]}" for kind in self.state) or "the cache is not running")


class PermissionsMissing(PilotageError):
    """The API server refuses something that the program needs. `state` has the permissions; a probe shows the text."""

    def __init__(self, missing: tuple[MissingPermission, ...]) -> None:
        self.state = missing
        self.public_reason = "; ".join(map(str, missing))
        super().__init__(self.public_reason)


class ShutdownTimeout(PilotageError):
    """The grace period ended before all runnables did. `cut` names what was cancelled."""

    def __init__(self, cut: tuple[str, ...], seconds: float) -> None:
        self.cut = cut
        super().__init__(
            f"not everything ended within the graceful_shutdown_timeout of {seconds:g} s; cancelled: {', '.join(cut)}"
        )


class ShutdownForced(PilotageError):
    """A second signal arrived during the shutdown. `cut` names what was cancelled."""

    def __init__(self, cut: tuple[str, ...]) -> None:
        self.cut = cut
        super().__init__(f"the shutdown was forced by a second signal; cancelled: {', '.join(cut) or 'nothing'}")


class NotIdle(PilotageError, TimeoutError):
    """There was still work at the timeout of `run_until_idle`. `busy` lists it.

    `failing` has the requests whose reconciles have failed, each as the name of its controller and NAMESPACE/NAME, if
    nothing is left but to retry them; else it is empty.
    """

    def __init__(self, busy: tuple[str, ...], seconds: float, failing: tuple[tuple[str, str], ...] = ()) -> None:
        self.busy = busy
        self.failing = failing
        super().__init__(f"still busy after {round(seconds, 2):g} s: {'; '.join(busy)}")
