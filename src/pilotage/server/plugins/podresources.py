"""The resources of Pods as quantities: of containers, and of a whole Pod. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pilotage.meta.documents import Document
from pilotage.meta.scalars.quantity import Quantity
from pilotage.server.strategies.pods.containers.resources import Amounts, Kind, total


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
