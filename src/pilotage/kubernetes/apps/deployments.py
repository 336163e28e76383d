"""Deployments."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.apps import templates
from pilotage.meta.causes import forbidden, invalid, not_supported, required
from pilotage.meta.documents import Document, same
from pilotage.server.strategies.checks import numbers
from pilotage.server.strategies.strategy import Strategy

_COUNTS = (
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "terminatingReplicas",
    "collisionCount",
)


class DeploymentStrategy(Strategy):
    """Deployments replace pods by a strategy; a change of annotations increments the generation, because ReplicaSets
    copy them."""

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = document["spec"]
        yield from numbers.counts(spec, "spec", ("replicas",))
        yield from templates.validate_selected_template(spec, "spec")
        yield from _validate_strategy(spec.get("strategy") or {}, "spec.strategy")
        yield from numbers.counts(spec, "spec", ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"))
        deadline = spec.get("progressDeadlineSeconds")
        if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
            yield invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")

    def validate_changes(self, document: Document, old: Document) -> list[Cause]:
        return templates.selector_changes(document, old)

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        status = document.get("status") or {}
        yield from numbers.counts(status, "status", _COUNTS)
        yield from templates.validate_parts(
            status, "replicas", ("updatedReplicas", "readyReplicas", "availableReplicas")
        )
        yield from templates.validate_parts(status, "readyReplicas", ("availableReplicas",), "readyReplicas")
        yield from templates.validate_collision_count(status, old)

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        return templates.workload_warnings(document, old)

    def _is_new_generation(self, document: Document, old: Document) -> bool:
        annotations = document["metadata"].get("annotations") or {}
        changed = not same(annotations, old["metadata"].get("annotations") or {})
        return changed or super()._is_new_generation(document, old)


def _validate_strategy(strategy: Document, path: str) -> Iterator[Cause]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            detail = "may not be specified when strategy `type` is 'Recreate'"
            yield forbidden(f"{path}.rollingUpdate", detail)
    elif kind != "RollingUpdate":
        yield not_supported(path, strategy, ("Recreate", "RollingUpdate"))
    elif rolling is None:
        yield required(f"{path}.rollingUpdate", "this should be defaulted and never be nil")
    else:
        yield from _validate_rolling_update(rolling, f"{path}.rollingUpdate")


def _validate_rolling_update(rolling: Document, path: str) -> Iterator[Cause]:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    yield from numbers.count_or_percent(unavailable, f"{path}.maxUnavailable")
    yield from numbers.count_or_percent(surge, f"{path}.maxSurge")
    if numbers.count(unavailable) == 0 and numbers.count(surge) == 0:
        yield invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
    yield from numbers.at_most_all(unavailable, f"{path}.maxUnavailable")
