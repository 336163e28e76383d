"""DaemonSets."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import BadRequest, Cause
from pilotage.kubernetes.apps import templates
from pilotage.meta.causes import invalid, not_supported, required
from pilotage.meta.documents import Document, same
from pilotage.rest.query import parse_int
from pilotage.server.strategies.checks import labelselectors, numbers
from pilotage.server.strategies.strategy import Strategy

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_INT64 = range(-(2**63), 2**63)
_COUNTS = (
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
)


class DaemonSetStrategy(Strategy):
    """DaemonSets count changes of their template, in an annotation that stands for a field of an older version."""

    def default(self, document: Document) -> None:
        # Before the fields of the writer are determined: it owns this one.
        _set_template_generation(document, _template_generation(document))

    def prepare_for_create(self, document: Document) -> None:
        super().prepare_for_create(document)
        _set_template_generation(document, max(_template_generation(document), 1))

    def prepare_for_update(self, document: Document, old: Document) -> None:
        changed = not same(document["spec"].get("template"), old["spec"].get("template"))
        _set_template_generation(document, _template_generation(old) + int(changed))
        super().prepare_for_update(document, old)

    def prepare_for_status_update(self, document: Document, old: Document) -> Document:
        result = super().prepare_for_status_update(document, old)
        _set_template_generation(result, _template_generation(old))  # it is part of the spec
        return result

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = document["spec"]
        selector = spec.get("selector")
        yield from labelselectors.label_selector(selector, "spec.selector")
        yield from templates.validate_match(spec, "spec")
        if selector is not None and labelselectors.is_empty(selector):
            yield labelselectors.invalid_selector("spec.selector", selector, "empty selector is invalid for daemonset")
        yield from templates.validate_template(spec, "spec", "DaemonSet")
        yield from numbers.counts(spec, "spec", ("minReadySeconds",))
        yield from _validate_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy")
        yield from numbers.counts(spec, "spec", ("revisionHistoryLimit",))

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        yield from templates.selector_changes(document, old)
        yield from self.validate(document)

    def validate_status_update(self, document: Document, old: Document) -> list[Cause]:
        status = document.get("status") or {}
        return [*numbers.counts(status, "status", _COUNTS), *templates.validate_collision_count(status, old)]

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        changed = old is None or _template_generation(document) != _template_generation(old)
        return templates.template_warnings_of(document) if changed else []


def _template_generation(document: Document) -> int:
    """The count in the annotation, which is a field of an older version: one that is not a number cannot be decoded."""
    text = (document["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "0")
    try:
        return parse_int(text, "ParseInt", _INT64)
    except ValueError as error:
        raise BadRequest(f'DaemonSet in version "v1" cannot be handled as a DaemonSet: {error}') from None


def _set_template_generation(document: Document, generation: int) -> None:
    annotations = document["metadata"].get("annotations") or {}
    document["metadata"]["annotations"] = annotations | {_TEMPLATE_GENERATION: str(generation)}


def _validate_strategy(strategy: Document, path: str) -> Iterator[Cause]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        yield not_supported(path, strategy, ("RollingUpdate", "OnDelete"))
    elif rolling is None:
        yield required(f"{path}.rollingUpdate")
    else:
        yield from _validate_rolling_update(rolling, f"{path}.rollingUpdate")


def _validate_rolling_update(rolling: Document, path: str) -> Iterator[Cause]:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    yield from numbers.count_or_percent(unavailable, f"{path}.maxUnavailable")
    yield from numbers.count_or_percent(surge, f"{path}.maxSurge")
    yield from numbers.at_most_all(unavailable, f"{path}.maxUnavailable")
    yield from numbers.at_most_all(surge, f"{path}.maxSurge")
    if numbers.count(unavailable) and numbers.count(surge):
        yield invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero")
    elif not numbers.count(unavailable) and not numbers.count(surge):
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")
