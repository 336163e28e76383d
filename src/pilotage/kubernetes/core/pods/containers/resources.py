"""Amounts of resources in pods: the sums of whole pods, and the quality of service that follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pilotage.codec.defaults.resources import COMPUTE, Amounts, Kind, add, amounts, total
from pilotage.meta.documents import Document
from pilotage.meta.scalars.quantity import Quantity

_ZERO = Quantity(0)


def quality_of_service(spec: Document) -> str:
    """Guaranteed: all containers have equal limits and requests; BestEffort: none has either; else Burstable."""
    limits: Amounts = {}
    requests: Amounts = {}
    guaranteed = True
    for holder in _holders(spec):
        own = _compute_amounts(holder, "limits")
        guaranteed = guaranteed and len(own) == len(COMPUTE)
        add(limits, own)
        add(requests, _compute_amounts(holder, "requests"))
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
    return {name: amount for name, amount in amounts(holder, kind).items() if name in COMPUTE and amount > _ZERO}


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
