"""Whether leases can be read and written, in the log: when that changes, and not at every attempt."""

from __future__ import annotations

from pilotage.telemetry.logs import Logger


class Reachability:
    """The trouble with leases; none at the beginning. `log` has the fields that name them, `what` is what they are."""

    def __init__(self, log: Logger, what: str) -> None:
        self._log = log
        self._what = what
        self._trouble = ""

    def note(self, trouble: str) -> None:
        """The outcome of an attempt; empty: it has succeeded."""
        if trouble and not self._trouble:
            self._log.warning(f"Cannot read or write {self._what}, retrying", error=trouble)
        elif self._trouble and not trouble:
            self._log.info(f"{self._what[0].upper()}{self._what[1:]} can be reached again")
        self._trouble = trouble

    @property
    def because(self) -> str:
        """The trouble as the end of a sentence; empty without any."""
        return f": {self._trouble}" if self._trouble else ""
