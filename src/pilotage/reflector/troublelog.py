"""The log of a collection that cannot be listed or watched: each failure once, and when it works again."""

from __future__ import annotations

import asyncio

from pilotage.errors import Gone, NotFound
from pilotage.meta.bounds.recent import Recent
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.mapping.mapper import not_served
from pilotage.reflector.change import Trouble
from pilotage.rest.refusal import MissingPermission, refused
from pilotage.telemetry.logs import Logger

_REMINDER_SECONDS = 600.0
"""How often a failure is logged that does not change."""
_REMEMBERED = 16
"""Different failures that are remembered, so that two which alternate are not logged each time."""


def missing_permission(error: BaseException | None) -> MissingPermission | None:
    """The permission whose absence is why a list or a watch failed: both verbs, because each needs the other."""
    found = refused(error)
    return found.with_verbs(("list", "watch")) if found is not None else None


def failure_text(error: BaseException, gvk: GroupVersionKind | None) -> str:
    """Why a list or a watch failed, and what to do about it where that is known."""
    if (missing := missing_permission(error)) is not None:
        return str(missing)
    return str(not_served(gvk) if gvk is not None and isinstance(error, NotFound) else error) or type(error).__name__


class TroubleLog:
    """Logs failures of the list and the watch of one collection."""

    def __init__(self, log: Logger, gvk: GroupVersionKind | None) -> None:
        self._log = log
        self._gvk = gvk
        self._silent_until: Recent[tuple[str, str], float] = Recent(_REMEMBERED)
        self._failing = False

    def log_failure(self, trouble: Trouble) -> None:
        """Log a failure: as a warning the first time, and for debugging if the same was logged a short time ago."""
        stage, error, expired = trouble.stage, trouble.error, isinstance(trouble.error, Gone)
        if trouble.is_repaired:
            log = self._log.debug if self._note_repeat(stage, "Gone") else self._log.info
            log("The resource version has expired; listing again", version=trouble.resource_version)
            return
        self._failing = True
        if (missing := missing_permission(error)) is not None:
            log = self._log.debug if self._note_repeat("permission", str(missing)) else self._log.error
            log(f"Cannot list and watch, retrying: {missing}", retry_seconds=round(trouble.retry_seconds, 2))
            return
        shown = not_served(self._gvk) if self._gvk is not None and isinstance(error, NotFound) else error
        text = f"{type(shown).__name__}: {shown}"
        # The message of an expired version has another version in it each time.
        log = self._log.debug if self._note_repeat(stage, "Gone again" if expired else text) else self._log.warning
        log(f"The {stage} failed; retrying", error=text, retry_seconds=round(trouble.retry_seconds, 2))

    def log_recovery(self, version: str) -> None:
        """Log that a watch is open again, if there was a failure before."""
        if self._failing:
            self._log.info("The watch is open again", version=version)
        self._failing = False
        self._silent_until.clear()

    def _note_repeat(self, stage: str, text: str) -> bool:
        """Note a failure; returns whether it was logged since the watch was last open, less than ten minutes ago."""
        now = asyncio.get_running_loop().time()
        if now < self._silent_until.get((stage, text), float("-inf")):
            return True
        self._silent_until[stage, text] = now + _REMINDER_SECONDS
        return False
