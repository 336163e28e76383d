"""Logs whether leases can be read and written: when that changes, and not at every attempt."""

from __future__ import annotations

from collections.abc import Sequence

from pilotage.rest.refusal import MissingPermission, refused
from pilotage.telemetry.logs import Logger


class Reachability:
    """The last error of reading or writing leases, if any. `log` has the fields that identify the leases, `what`
    describes them.

    `verbs` are all verbs that the leases need: a message names all of them, not one after each refusal.
    """

    def __init__(self, log: Logger, what: str, verbs: Sequence[str]) -> None:
        self._log = log
        self._what = what
        self._verbs = verbs
        self._trouble = ""
        self._kind: type[BaseException] | None = None
        self.missing: MissingPermission | None = None
        """The permission whose absence is the cause."""

    def note_failure(self, error: BaseException) -> None:
        """An attempt has failed."""
        found = refused(error)
        if found is not None:
            found = found.with_verbs(self._verbs) if found.resource == "leases" else found
            if found != self.missing:
                self._log.error(f"Cannot read or write {self._what}, retrying: {found}")
        elif type(error) is not self._kind:  # not the error: its text may be another one each time
            trouble = str(error) or "no answer in time"
            self._log.warning(f"Cannot read or write {self._what}, retrying", error=trouble)
        self._kind = type(error)
        self.missing = found
        self._trouble = str(found or error) or "no answer in time"

    def note_success(self) -> None:
        """An attempt has succeeded."""
        if self._trouble:
            self._log.info(f"{self._what[0].upper()}{self._what[1:]} can be reached again")
        self._trouble = ""
        self._kind = self.missing = None

    @property
    def because(self) -> str:
        """The last error as the end of a sentence; empty if there is none."""
        return f": {self._trouble}" if self._trouble else ""
