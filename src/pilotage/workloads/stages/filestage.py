"""A stage of a Stage file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from random import Random

from pilotage.workloads.stages import amounts
from pilotage.workloads.stages.actions import Definition, NextFields, StepFields
from pilotage.workloads.stages.celexpressions import CelFailed
from pilotage.workloads.stages.fields import Count, ExpressionFrom, Fields, Text
from pilotage.workloads.stages.jq.values import QueryFailed
from pilotage.workloads.stages.moment import Moment
from pilotage.workloads.stages.selectors import Selector
from pilotage.workloads.stages.stage import Action, Delete, Document, Event, ResourceRef, StageFailed, Step
from pilotage.workloads.stages.templates.problems import RenderError


class Resource(Fields):
    """The kind of the objects."""

    kind: Text
    api_group: str = "v1"


class Spec(Fields):
    """The spec of a Stage."""

    resource_ref: Resource
    selector: Selector | None = None
    weight: Count = 0
    weight_from: ExpressionFrom | None = None
    delay: amounts.Delay | None = None
    next: NextFields | None = None
    steps: list[StepFields] = []
    immediate_next_stage: bool = False

    @property
    def definitions(self) -> list[Definition]:
        """The actions, in their order. As for kwok, steps replace next if there are both."""
        steps = [each for at, step in enumerate(self.steps) for each in step.definitions(f"spec.steps[{at}]")]
        return steps or ([] if self.next is None else self.next.definitions())


@dataclass(frozen=True, slots=True)
class FileStage:
    """A stage as `stagefiles.parse` gives it."""

    name: str
    resource: ResourceRef
    spec: Spec

    def matches(self, document: Document) -> bool:
        with self._failures("selector"):
            return self.spec.selector is not None and self.spec.selector.matches(document)

    def weight(self, document: Document) -> int | None:
        with self._failures("weightFrom"):
            return amounts.weight(self.spec.weight, self.spec.weight_from, document)

    def delay(self, document: Document, now: datetime, random: Random) -> float:
        found = self.delay_range(document, now)
        return max(0.0, random.uniform(*found) if len(found) == 2 else sum(found))

    def delay_range(self, document: Document, now: datetime) -> tuple[float, ...]:
        """The seconds that `delay` can give: none, one number, or the shortest and the longest."""
        with self._failures("delay"):
            return self.spec.delay.range(document, now) if self.spec.delay else ()

    def step(self, document: Document, moment: Moment) -> Step:
        functions = moment.for_templates()
        found: list[Action] = []
        deleted = False
        for definition in self.spec.definitions:
            try:
                action = definition.performed(document, functions, self.resource)
            except RenderError as error:
                place = f"{definition.place} line {error.line}" if error.line else definition.place
                raise StageFailed(self.name, f"{place}: {error}") from None
            if action is not None and (not deleted or isinstance(action, Event)):  # only Events follow a deletion
                found.append(action)
            deleted = deleted or isinstance(action, Delete)
        return Step(tuple(found), self.spec.immediate_next_stage)

    @contextmanager
    def _failures(self, field: str) -> Iterator[None]:
        try:
            yield
        except (QueryFailed, CelFailed) as error:
            raise StageFailed(self.name, f"spec.{field}: {error}") from None
