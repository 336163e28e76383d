"""Amounts of resources: sums over the containers of a pod, and the defaults that follow from them."""

from __future__ import annotations

from typing import Literal

from pilotage.meta.documents import Document
from pilotage.meta.scalars.quantity import Quantity

Amounts = dict[str, Quantity]
Kind = Literal["limits", "requests"]
COMPUTE = ("cpu", "memory")
HUGE_PAGES = "hugepages-"


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
    """Fill in the resources of a pod as a whole, if it has any, from the resources of its containers, in place."""
    resources = spec.get("resources")
    if not resources:
        return
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if not limits and not requests:
        return
    for name, amount in total(spec, "limits").items():
        if name.startswith(HUGE_PAGES) and name not in requests:
            limits.setdefault(name, amount.canonical())
    if limits:
        resources["limits"] = limits
        sums = total(spec, "requests")
        requests = {name: amount.canonical() for name, amount in sums.items() if name in COMPUTE} | requests
        resources["requests"] = {name: value for name, value in limits.items() if of_pods(name)} | requests


def of_pods(name: str) -> bool:
    """Whether a pod as a whole can have this resource."""
    return name in COMPUTE or name.startswith(HUGE_PAGES)


def amounts(container: Document, kind: Kind) -> Amounts:
    """The limits or requests of a container."""
    found = (container.get("resources") or {}).get(kind) or {}
    return {name: Quantity(value) for name, value in found.items()}


def total(spec: Document, kind: Kind) -> Amounts:
    """What all containers need at the same time: init containers run before the others, sidecars with them."""
    sums: Amounts = {}
    for container in spec.get("containers") or ():
        add(sums, amounts(container, kind))
    sidecars: Amounts = {}
    highest: Amounts = {}
    for container in spec.get("initContainers") or ():
        needed = amounts(container, kind)
        if container.get("restartPolicy") == "Always":
            add(sums, needed)
            add(sidecars, needed)
            _raise(highest, sidecars)
        else:
            add(needed, sidecars)
            _raise(highest, needed)
    _raise(sums, highest)
    return sums


def add(target: Amounts, added: Amounts) -> None:
    """Add amounts to others, in place."""
    for name, amount in added.items():
        target[name] = target[name] + amount if name in target else amount


def _raise(target: Amounts, least: Amounts) -> None:
    for name, amount in least.items():
        if name not in target or target[name] < amount:
            target[name] = amount
