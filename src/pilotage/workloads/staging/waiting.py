"""What a player knows of an object: the stage that comes next, and the stages that it has had."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from pilotage.workloads.stages.stage import Stage, Step


@dataclass(slots=True)
class Turn:
    """The stage that was chosen for one version of an object."""

    version: str
    stage: Stage | None
    """None: no stage matches, or the stage was played and has not changed the object."""
    due: datetime
    step: Step | None = None
    """What it does, as soon as it was computed."""
    done: int = 0
    """How many of its actions were written: a retry goes on after them."""


@dataclass(slots=True)
class Course:
    """The stages of one object."""

    uid: str
    turn: Turn | None = None
    played: set[str] = field(default_factory=set)
    """The names of the stages that were played. A stage that comes again, such as a heartbeat, is no progress."""
    failed: set[str] = field(default_factory=set)
    """The names of the stages whose failure was logged."""

    @property
    def progress(self) -> datetime | None:
        """When the next step is due that a run until idle waits for."""
        turn = self.turn
        if turn is None or turn.stage is None or turn.stage.name in self.played:
            return None
        return turn.due
