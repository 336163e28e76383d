"""The resources of Pods as quantities: of containers, and of a whole Pod. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pilotage.meta.documents import Document
from pilotage.meta.quantity import Quantity


def parsed(amounts: Mapping[str, Any] | None) -> dict[str, Quantity]:
    """Amounts as quantities; what is not one is left out, because validation refuses it."""
    found: dict[str, Quantity] = {}
    for name, text in (amounts or {}).items():
        try:
            found[name] = Quantity(str(text))
        except ValueError:
            continue
    return found


def pod_total(spec: Document, part: str) -> dict[str, Quantity]:
    """The `requests` or `limits` of a whole Pod.

    Containers run together. Init containers run one after another before them, so the largest counts; one that is
    restarted always runs beside everything after it. Resources of the Pod itself take precedence.
    """
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(total, _of(container, part))
    beside: dict[str, Quantity] = {}
    largest: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        amounts = _of(container, part)
        if container.get("restartPolicy") == "Always":
            _add(total, amounts)
            _add(beside, amounts)
            _raise(largest, beside)
        else:
            _add(amounts, beside)
            _raise(largest, amounts)
    _raise(total, largest)
    own = parsed(((spec.get("resources") or {}).get(part)) or {})
    total.update({name: amount for name, amount in own.items() if name in ("cpu", "memory")})
    return total


def _of(container: Document, part: str) -> dict[str, Quantity]:
    return parsed((container.get("resources") or {}).get(part))


def _add(total: dict[str, Quantity], amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        total[name] = total[name] + amount if name in total else amount


def _raise(total: dict[str, Quantity], amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        if name not in total or amount > total[name]:
            total[name] = amount
