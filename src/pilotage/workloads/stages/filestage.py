"""A stage of a Stage file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from random import Random

from pilotage.workloads.stages.actions import ApplyTemplate, Definition, PatchTemplate, performed
from pilotage.workloads.stages.amounts import Delay, Weight
from pilotage.workloads.stages.celexpressions import CelFailed
from pilotage.workloads.stages.jq.limits import LimitExceeded
from pilotage.workloads.stages.moment import Moment
from pilotage.workloads.stages.selectors import Selector
from pilotage.workloads.stages.stage import Action, Delete, Document, Event, ResourceRef, Stage, StageFailed, Step
from pilotage.workloads.stages.templates.limits import RenderError


@dataclass(frozen=True, slots=True)
class FileStage:
    """A stage as `stagefiles.parse` gives it."""

    name: str
    resource: ResourceRef
    selector: Selector | None
    """None: it matches no object."""
    weights: Weight
    delays: Delay | None
    definitions: tuple[Definition, ...]
    """The actions, in their order."""
    immediate: bool
    source: str
    """The file."""

    def matches(self, document: Document) -> bool:
        if self.selector is None:
            return False
        with self._failures("selector"):
            return self.selector.matches(document)

    def weight(self, document: Document) -> int | None:
        with self._failures("weightFrom"):
            return self.weights.of(document)

    def delay(self, document: Document, now: datetime, random: Random) -> float:
        with self._failures("delay"):
            return self.delays.of(document, now, random) if self.delays else 0.0

    def delay_range(self, document: Document, now: datetime) -> tuple[float, ...]:
        """The seconds that `delay` can give: none, one number, or the shortest and the longest."""
        with self._failures("delay"):
            return self.delays.range(document, now) if self.delays else ()

    def step(self, document: Document, moment: Moment) -> Step:
        functions = moment.for_templates()
        found: list[Action] = []
        deleted = False
        for definition in self.definitions:
            if deleted and not isinstance(definition, Event):
                continue  # only Events can follow a deletion
            try:
                action = performed(definition, document, functions)
            except RenderError as error:
                raise StageFailed(self.name, f"{_place(definition, error)}: {error}") from None
            found += [action] if action else []
            deleted = deleted or isinstance(definition, Delete)
        return Step(tuple(found), self.immediate)

    @contextmanager
    def _failures(self, field: str) -> Iterator[None]:
        try:
            yield
        except (LimitExceeded, CelFailed) as error:
            raise StageFailed(self.name, f"spec.{field}: {error}") from None


def _place(definition: Definition, error: RenderError) -> str:
    place = definition.place if isinstance(definition, PatchTemplate | ApplyTemplate) else "spec"
    return f"{place} line {error.line}" if error.line else place


def _is_stage(stage: FileStage) -> Stage:
    return stage
