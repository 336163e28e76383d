"""PodDisruptionBudgets."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.checks.conditions import validate_conditions
from pilotage.meta.causes import invalid
from pilotage.meta.documents import Document
from pilotage.server.strategies.checks import fields, labelselectors, numbers
from pilotage.server.strategies.strategy import Strategy

_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


class PodDisruptionBudgetStrategy(Strategy):
    """Disruption budgets count pods that are available, or those that are not, never both."""

    def validate(self, document: Document) -> Iterator[Cause]:
        return _validate_spec(document.get("spec") or {}, "spec", any_value=False)

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        known = any(labelselectors.label_selector((old.get("spec") or {}).get("selector"), ""))
        return _validate_spec(document.get("spec") or {}, "spec", any_value=known)

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        status = document.get("status") or {}
        yield from validate_conditions(status.get("conditions") or (), "status.conditions")
        yield from numbers.counts(status, "status", _COUNTS)


def _validate_spec(spec: Document, path: str, *, any_value: bool) -> Iterator[Cause]:
    counts = [name for name in ("minAvailable", "maxUnavailable") if spec.get(name) is not None]
    if len(counts) == 2:
        yield invalid(path, spec, "minAvailable and maxUnavailable cannot be both set", whole=True)
    for name in counts:
        yield from numbers.count_or_percent(spec[name], f"{path}.{name}")
        yield from numbers.at_most_all(spec[name], f"{path}.{name}")
    yield from labelselectors.label_selector(spec.get("selector"), f"{path}.selector", any_value=any_value)
    policy = spec.get("unhealthyPodEvictionPolicy")
    yield from fields.optional_choice(policy, f"{path}.unhealthyPodEvictionPolicy", _POLICIES)
