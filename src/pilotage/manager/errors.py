"""What can go wrong with a manager, by what a caller can do about it."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.errors import PilotageError


class AlreadyStarted(PilotageError):
    """The manager was started before: make another one, or add what was forgotten earlier."""


class ManagerStopped(PilotageError):
    """The manager is stopping or has stopped; it takes nothing more and cannot be started again."""


class ShuttingDown(PilotageError):
    """No new work is taken: the program is about to end. Let it be done after the next start."""


class AddressUnavailable(PilotageError):
    """An endpoint cannot be served where it was to be: choose another address."""


class RunnableCancelled(PilotageError):
    """A runnable ended because somebody other than the manager cancelled it."""


class LeaderElectionLost(PilotageError):
    """The lease is no longer ours. Whatever only a leader may do has been cancelled; let the process end."""


class CacheNotLive(PilotageError):
    """A cache is not synced, or a watch of it is not alive. `state` names the kinds."""

    def __init__(self, troubles: Mapping[str, str]) -> None:
        self.state = tuple(sorted(troubles))
        super().__init__("; ".join(f"{kind}: {troubles[kind]}" for kind in self.state) or "the cache does not run")


class ShutdownTimeout(PilotageError):
    """The grace period was over before everything had ended. `cut` names what was cancelled in the middle."""

    def __init__(self, cut: tuple[str, ...], seconds: float) -> None:
        self.cut = cut
        super().__init__(
            f"not everything ended within the graceful_shutdown_timeout of {seconds:g} s; cut: {', '.join(cut)}"
        )


class ShutdownForced(PilotageError):
    """A second signal came during the shutdown. `cut` names what was cancelled in the middle."""

    def __init__(self, cut: tuple[str, ...]) -> None:
        self.cut = cut
        super().__init__(f"the shutdown was forced by a second signal; cut: {', '.join(cut) or 'nothing'}")


class NotIdle(PilotageError, TimeoutError):
    """There was still work after the time that `run_until_idle` was given. `busy` says which."""

    def __init__(self, busy: tuple[str, ...], seconds: float) -> None:
        self.busy = busy
        super().__init__(f"still busy after {round(seconds, 2):g} s: {'; '.join(busy)}")
