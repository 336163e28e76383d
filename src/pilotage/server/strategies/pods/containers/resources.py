"""Amounts of resources in pods: rounding, sums over containers, and the quality of service that follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pilotage.meta.documents import Document
from pilotage.meta.scalars.quantity import Quantity
from pilotage.server.strategies.checks import resourcenames

Amounts = dict[str, Quantity]
Kind = Literal["limits", "requests"]
_COMPUTE = ("cpu", "memory")
_ZERO = Quantity(0)


def default_quantities(quantities: Document | None) -> None:
    """Round amounts of resources up to thousandths, in place."""
    for name, text in quantities.items() if quantities else ():
        if text.isdigit() or (text[-1:] in "mkMGTPEi" and "." not in text):
            continue  # a whole number of thousandths or of more
        quantity = Quantity(text)
        rounded = Quantity(f"{quantity.milli_value()}m")
        if quantities is not None and rounded != quantity:
            quantities[name] = rounded.canonical()


def default_requirements(resources: Document) -> None:
    """Round the limits and requests of a container, and drop an empty list of claims, in place."""
    default_quantities(resources.get("limits"))
    default_quantities(resources.get("requests"))
    if not resources.get("claims", True):
        del resources["claims"]


def default_pod_resources(spec: Document) -> None:
    """Fill in the resources of a pod as a whole, if it has any, from those of its containers, in place."""
    resources = spec.get("resources")
    if not resources:
        return
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if not limits and not requests:
        return
    for name, amount in total(spec, "limits").items():
        if name.startswith(resourcenames.HUGE_PAGES) and name not in requests:
            limits.setdefault(name, amount.canonical())
    if limits:
        resources["limits"] = limits
        sums = total(spec, "requests")
        requests = {name: amount.canonical() for name, amount in sums.items() if name in _COMPUTE} | requests
        resources["requests"] = {name: value for name, value in limits.items() if of_pods(name)} | requests


def of_pods(name: str) -> bool:
    """Whether a pod as a whole can have this resource."""
    return name in _COMPUTE or name.startswith(resourcenames.HUGE_PAGES)


def amounts(container: Document, kind: Kind) -> Amounts:
    """The limits or requests of a container."""
    found = (container.get("resources") or {}).get(kind) or {}
    return {name: Quantity(value) for name, value in found.items()}


def total(spec: Document, kind: Kind) -> Amounts:
    """What all containers need at the same time: init containers run before the others, sidecars with them."""
    sums: Amounts = {}
    for container in spec.get("containers") or ():
        _add(sums, amounts(container, kind))
    sidecars: Amounts = {}
    highest: Amounts = {}
    for container in spec.get("initContainers") or ():
        needed = amounts(container, kind)
        if container.get("restartPolicy") == "Always":
            _add(sums, needed)
            _add(sidecars, needed)
            _raise(highest, sidecars)
        else:
            _add(needed, sidecars)
            _raise(highest, needed)
    _raise(sums, highest)
    return sums


def quality_of_service(spec: Document) -> str:
    """Guaranteed: all containers have equal limits and requests; BestEffort: none has either; else Burstable."""
    limits: Amounts = {}
    requests: Amounts = {}
    guaranteed = True
    for holder in _holders(spec):
        own = _compute_amounts(holder, "limits")
        guaranteed = guaranteed and len(own) == len(_COMPUTE)
        _add(limits, own)
        _add(requests, _compute_amounts(holder, "requests"))
    if not limits and not requests:
        return "BestEffort"
    return "Guaranteed" if guaranteed and limits == requests else "Burstable"


def _holders(spec: Document) -> Iterator[Document]:
    if spec.get("resources") is not None:
        yield spec
    else:
        yield from spec.get("containers") or ()
        yield from spec.get("initContainers") or ()


def _compute_amounts(holder: Document, kind: Kind) -> Amounts:
    return {name: amount for name, amount in amounts(holder, kind).items() if name in _COMPUTE and amount > _ZERO}


def _add(target: Amounts, added: Amounts) -> None:
    for name, amount in added.items():
        target[name] = target[name] + amount if name in target else amount


def _raise(target: Amounts, least: Amounts) -> None:
    for name, amount in least.items():
        if name not in target or target[name] < amount:
            target[name] = amount


def parsed(amounts: Mapping[str, Any] | None) -> dict[str, Quantity]:
    """Amounts as quantities; what is not one is left out, because validation refuses it."""
    found: dict[str, Quantity] = {}
    for name, text in (amounts or {}).items():
        try:
            found[name] = Quantity(str(text))
        except ValueError:
            continue
    return found


def pod_total(spec: Document, part: Kind) -> Amounts:
    """The `requests` or `limits` of a whole Pod: its own take precedence over the sum of its containers."""
    sums = total(spec, part)
    own = parsed((spec.get("resources") or {}).get(part))
    return sums | {name: amount for name, amount in own.items() if name in ("cpu", "memory")}
