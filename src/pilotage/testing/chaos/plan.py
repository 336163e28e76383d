"""Plans: the faults of one run and its seed, and the file that repeats it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from pilotage.errors import InvalidDefinition
from pilotage.meta.values import Value
from pilotage.testing.chaos.faults import KINDS, Fault


class Plan(Value, frozen=True):
    """The faults of one run, and the seed that all random choices of the run follow."""

    faults: tuple[Fault, ...] = ()
    seed: int = 0
    scenario: str = ""
    """The test or the function that it was made for."""

    def save(self, path: str | Path) -> None:
        """Write it to a file, for `Plan.load` and `pytest --pilotage-chaos-plan FILE`."""
        Path(path).write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n")

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read it from a file. Raises InvalidDefinition if it is not a plan."""
        try:
            plan = msgspec.json.decode(Path(path).read_bytes(), type=Plan)
        except (OSError, msgspec.MsgspecError) as error:
            raise InvalidDefinition(f"{path} is not a plan of faults: {error}") from error
        unknown: Any = [fault.kind for fault in plan.faults if fault.kind not in KINDS]
        if unknown:
            raise InvalidDefinition(f"{path} has unknown faults: {', '.join(unknown)}; there are: {', '.join(KINDS)}")
        return plan

    def __str__(self) -> str:
        return ", and ".join(map(str, self.faults)) or "no faults"
