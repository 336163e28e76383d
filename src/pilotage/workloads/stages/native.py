"""A stage written in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from random import Random

from pilotage.errors import InvalidDefinition
from pilotage.workloads.stages.moment import Moment
from pilotage.workloads.stages.stage import Document, ResourceRef, Step


def _always(document: Document) -> bool:
    return True


def _at_once(document: Document, now: datetime, random: Random) -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class NativeStage:
    """A stage whose parts are functions of the document. They must not change it."""

    name: str
    resource: ResourceRef
    act: Callable[[Document, Moment], Step]
    """What it does to an object."""
    selects: Callable[[Document], bool] = _always
    """Whether it can come next for an object."""
    waits: Callable[[Document, datetime, Random], float] = _at_once
    """Seconds until the step. A negative number is 0."""
    chance: int | None = 0
    """Its weight among the stages that match, at least 0; None: as `Stage.weight`."""

    def __post_init__(self) -> None:
        if self.chance is not None and self.chance < 0:
            raise InvalidDefinition(f"the stage {self.name} has the weight {self.chance}: it must be at least 0")

    def matches(self, document: Document) -> bool:
        return self.selects(document)

    def weight(self, document: Document) -> int | None:
        return self.chance

    def delay(self, document: Document, now: datetime, random: Random) -> float:
        return max(0.0, self.waits(document, now, random))

    def step(self, document: Document, moment: Moment) -> Step:
        return self.act(document, moment)
