"""Liveness: whether the watch of a collection works now."""

from __future__ import annotations

import asyncio

from pilotage.cache.progress import Progress
from pilotage.meta.kinds import GroupVersionKind
from pilotage.reflector.change import Trouble
from pilotage.reflector.troublelog import TroubleLog
from pilotage.telemetry.logs import Logger


class Liveness:
    """Keeps `progress.live` up to date, and logs when it changes and why."""

    def __init__(self, log: Logger, gvk: GroupVersionKind, progress: Progress) -> None:
        self._log = TroubleLog(log, gvk)
        self._progress = progress
        self._trial: asyncio.TimerHandle | None = None
        self.on_trial = False
        """A watch is open, but the previous one ended immediately."""
        self.last_error: Exception | None = None
        """The last failure; None once it works again."""

    def record_open(self, trial_seconds: float) -> None:
        """A watch is open. If the previous one ended immediately, this one is live only after the trial or
        `record_success`."""
        if trial_seconds <= 0:
            self.record_success()
            return
        self.on_trial = True
        self._trial = asyncio.get_running_loop().call_later(trial_seconds, self.record_success)

    def record_success(self) -> None:
        """The watch works."""
        self.stop()
        self._log.log_recovery(self._progress.version)
        self.last_error = None
        self._progress.mark_live()

    def record_failure(self, trouble: Trouble) -> None:
        """The list or the watch failed, and is retried after a wait."""
        self.stop()
        self.last_error = trouble.error
        self._log.log_failure(trouble)
        if not trouble.is_repaired:
            self._progress.mark_failed()

    def stop(self) -> None:
        """End a trial without a result."""
        self.on_trial = False
        if self._trial is not None:
            self._trial.cancel()
            self._trial = None
