"""Liveness: whether a collection is followed now, and the log lines that say when that changes."""

from __future__ import annotations

import asyncio

from pilotage.cache.progress import Progress
from pilotage.errors import Gone, NotFound
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.mapper import not_served
from pilotage.telemetry.logs import Logger

_REMINDER_SECONDS = 600.0
"""How often a trouble is logged that does not change."""
_REMEMBERED = 16
"""Different troubles that are remembered, so that those which alternate are not logged each time."""


class Liveness:
    """Keeps `progress.live` and says in the log, once, what is wrong and when it is right again."""

    def __init__(self, log: Logger, gvk: GroupVersionKind, progress: Progress) -> None:
        self._log = log
        self._gvk = gvk
        self._progress = progress
        self._shown: dict[tuple[str, str], float] = {}  # a trouble, and until when it need not be logged again
        self._trial: asyncio.TimerHandle | None = None
        self.on_trial = False
        """A watch is open, but the one before broke at once."""
        self.last_error: Exception | None = None
        """What went wrong last; None once it works again."""

    def opened(self, trial_seconds: float) -> None:
        """A watch is open. If the one before broke at once, it is live only after the trial, or `passed`."""
        if trial_seconds <= 0:
            self.passed()
            return
        self.on_trial = True
        self._trial = asyncio.get_running_loop().call_later(trial_seconds, self.passed)

    def passed(self) -> None:
        """The watch works."""
        self._end_trial()
        if not self._progress.live and self.last_error is not None:
            self._log.info("The watch is open again", version=self._progress.version)
        self.last_error = None
        self._shown.clear()
        self._progress.recovered()

    def failed(self, stage: str, error: Exception, retry_seconds: float) -> None:
        """The list or the watch failed, and is tried again after a wait."""
        self._end_trial()
        self.last_error = error
        if isinstance(error, Gone) and retry_seconds == 0:  # an ordinary event: the list that follows brings all
            log = self._log.debug if self._is_known(stage, "Gone") else self._log.info
            log("The server has forgotten the version; listing again", version=self._progress.version)
            return
        shown = not_served(self._gvk) if isinstance(error, NotFound) else error
        text = f"{type(shown).__name__}: {shown}"
        known = self._is_known(stage, "Gone again" if isinstance(error, Gone) else text)  # each names another version
        log = self._log.debug if known else self._log.warning
        log(f"The {stage} failed; trying again", error=text, retry_seconds=round(retry_seconds, 2))
        self._progress.failed()

    def stop(self) -> None:
        """Nothing is followed any more."""
        self._end_trial()

    def _end_trial(self) -> None:
        self.on_trial = False
        if self._trial is not None:
            self._trial.cancel()
            self._trial = None

    def _is_known(self, stage: str, text: str) -> bool:
        """Whether this trouble was logged since the watch was last live, and not long ago."""
        now = asyncio.get_running_loop().time()
        if now < self._shown.get((stage, text), float("-inf")):
            return True
        if len(self._shown) >= _REMEMBERED:
            del self._shown[next(iter(self._shown))]
        self._shown[stage, text] = now + _REMINDER_SECONDS
        return False
