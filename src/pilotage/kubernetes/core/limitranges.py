"""LimitRanges."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.checks import resourcenames
from pilotage.kubernetes.checks.quantities import quantity
from pilotage.meta.causes import forbidden, invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.scalars.quantity import Quantity
from pilotage.meta.validation.names import qualified_name
from pilotage.server.strategies.checks import items
from pilotage.server.strategies.strategy import Strategy

_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_PARTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_ONE = Quantity(1)
_MOST = 2**63 - 1


class LimitRangeStrategy(Strategy):
    """Limit ranges bound what one pod, container or claim may use, and have defaults for containers."""

    def prepare_for_create(self, document: Document) -> None:
        super().prepare_for_create(document)
        if not document["metadata"].get("name"):
            document["metadata"]["name"] = document["metadata"]["uid"]

    def validate(self, document: Document) -> Iterator[Cause]:
        limits = document["spec"].get("limits") or ()
        seen: set[str] = set()
        for index, limit in enumerate(limits):
            at, kind = f"spec.limits[{index}]", limit.get("type", "")
            yield from _validate_type(kind, f"{at}.type")
            yield from items.unique(kind, f"{at}.type", seen)
            yield from _validate_limit(limit, kind, at)


def _validate_type(kind: str, path: str) -> Iterator[Cause]:
    problems = qualified_name(kind)
    yield from (invalid(path, kind, problem) for problem in problems)
    if not problems and "/" not in kind and kind not in _TYPES:
        yield invalid(path, kind, "must be a standard limit type or fully qualified")


def _validate_limit(limit: Document, kind: str, path: str) -> Iterator[Cause]:
    check = resourcenames.container_resource_name if kind in ("Pod", "Container") else resourcenames.resource_name
    known: dict[str, dict[str, Quantity]] = {}
    for part in _PARTS:
        amounts = limit.get(part) or {}
        if kind == "Pod" and part.startswith("default"):
            if amounts:
                yield forbidden(f"{path}.{part}", "may not be specified when `type` is 'Pod'")
            continue
        for name, amount in amounts.items():
            yield from check(name, f"{path}.{part}[{name}]")
            known.setdefault(name, {})[part] = quantity(amount)
    if kind == "PersistentVolumeClaim" and not known.get("storage", {}).keys() & {"min", "max"}:
        message = "either minimum or maximum storage value is required, but neither was provided"
        yield required(f"{path}.limits", message)
    for name, amounts in known.items():
        yield from _validate_amounts(name, amounts, path)


def _validate_amounts(name: str, amounts: dict[str, Quantity], path: str) -> Iterator[Cause]:
    least, most = amounts.get("min"), amounts.get("max")
    limit, request = amounts.get("default"), amounts.get("defaultRequest")
    comparisons = (
        ("min", "min value", least, "max value", most, least),
        ("defaultRequest", "min value", least, "default request value", request, request),
        ("defaultRequest", "default request value", request, "max value", most, request),
        ("defaultRequest", "default request value", request, "default limit value", limit, request),
        ("default", "min value", least, "default value", limit, least),
        ("default", "default value", limit, "max value", most, most),
    )
    for part, small, lower, large, upper, value in comparisons:
        if lower is not None and upper is not None and lower > upper:
            message = f"{small} {lower} is greater than {large} {upper}"
            yield invalid(f"{path}.{part}[{name}]", str(value), message)
    yield from _validate_ratio(amounts, f"{path}.maxLimitRequestRatio[{name}]")
    if limit is not None and request is not None and limit != request and not resourcenames.can_be_overcommitted(name):
        message = f"default value {limit} must equal to defaultRequest value {request} in {name}"
        yield invalid(f"{path}.defaultRequest[{name}]", str(request), message)


def _validate_ratio(amounts: dict[str, Quantity], path: str) -> Iterator[Cause]:
    ratio, least, most = (amounts.get(part) for part in ("maxLimitRequestRatio", "min", "max"))
    if ratio is None:
        return
    if ratio < _ONE:
        yield invalid(path, str(ratio), f"ratio {ratio} is less than 1")
    if least and most is not None:
        factor, limit = _compared(ratio, least, most)
        if factor > limit:
            yield invalid(path, str(ratio), f"ratio {ratio} is greater than max/min = {limit:f}")


def _compared(ratio: Quantity, least: Quantity, most: Quantity) -> tuple[float, float]:
    """The ratio, and the ratio of the bounds: of thousandths if these fit into 64 bits. As in Go, an overflow means
    0."""
    factor, small, large = (_in_64_bits(each.value()) for each in (ratio, least, most))
    thousandths = max(factor, small, large) < _MOST // 1000
    if thousandths:
        factor, small, large = (_in_64_bits(each.milli_value()) for each in (ratio, least, most))
    return factor / 1000 if thousandths else factor, large / small if small else math.inf


def _in_64_bits(value: int) -> int:
    return value if value <= _MOST else 0
