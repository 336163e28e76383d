"""The stages of all kinds, and which of them comes next for an object."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from pilotage.workloads.stages.stage import Document, ResourceRef, Stage


class Lifecycle:
    """Stages, by the kind of their objects. The order of the stages of a kind is kept."""

    def __init__(self, stages: Iterable[Stage]) -> None:
        self._stages: dict[ResourceRef, list[Stage]] = {}
        for stage in stages:
            self._stages.setdefault(stage.resource, []).append(stage)

    @property
    def resources(self) -> list[ResourceRef]:
        """The kinds that have stages."""
        return list(self._stages)

    def choose(self, api_version: str, kind: str, document: Document, random: Random) -> Stage | None:
        """The stage that comes next for an object, by weight among those that match; None if none matches.

        Raises StageFailed.
        """
        weights = _weights(self._matching(api_version, kind, document), document)
        if len(weights) < 2:
            return next((stage for stage, _ in weights), None)
        return random.choices([stage for stage, _ in weights], [weight for _, weight in weights])[0]

    def candidates(self, api_version: str, kind: str, document: Document) -> list[Stage]:
        """The stages that can come next for an object. Raises StageFailed."""
        return [stage for stage, _ in _weights(self._matching(api_version, kind, document), document)]

    def _matching(self, api_version: str, kind: str, document: Document) -> list[Stage]:
        return [stage for stage in self._stages.get(ResourceRef(api_version, kind), ()) if stage.matches(document)]


def _weights(stages: list[Stage], document: Document) -> list[tuple[Stage, int]]:
    """The stages that can be chosen, with positive weights.

    A single stage needs no weight. If there is a stage with a positive weight, only such stages are chosen. If not,
    any stage with the weight 0 is as likely as another; stages without a weight are chosen if there are no others.
    """
    if len(stages) < 2:
        return [(stage, 1) for stage in stages]
    weights = [(stage, stage.weight(document)) for stage in stages]
    weighted = [(stage, weight) for stage, weight in weights if weight is not None]
    if sum(weight for _, weight in weighted):
        return [(stage, weight) for stage, weight in weighted if weight > 0]
    return [(stage, 1) for stage, _ in weighted or weights]
