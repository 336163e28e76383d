"""The resources that a Pod requests."""

from __future__ import annotations

from pilotage.codec.defaults.resources import Amounts, of_pods, total
from pilotage.kubernetes.core.pods.containers.resources import parsed
from pilotage.meta.documents import Document
from pilotage.meta.scalars.quantity import Quantity

_DEFAULT_CPU, _DEFAULT_MEMORY = "100m", str(200 * 1024 * 1024)
"""What a container without a request counts for when nodes are scored."""


def amounts_of(spec: Document) -> dict[str, int]:
    """The resources that a Pod requests: containers and sidecars together, or the largest of its init containers, or
    those of the Pod as a whole; and the overhead of its runtime class."""
    own = parsed((spec.get("resources") or {}).get("requests"))
    amounts = total(spec, "requests") | {name: amount for name, amount in own.items() if of_pods(name)}
    for name, amount in parsed(spec.get("overhead")).items():
        amounts[name] = amounts[name] + amount if name in amounts else amount
    return {name: whole(name, amount) for name, amount in amounts.items() if amount}


def whole(name: str, amount: Quantity) -> int:
    """An amount of a resource as schedulers count it."""
    return amount.milli_value() if name == "cpu" else amount.value()


def scored(spec: Document) -> tuple[int, int]:
    """The requests for cpu and memory, where a container that has none counts for a little."""
    filled = dict(spec)
    for part in ("containers", "initContainers"):
        filled[part] = [_with_defaults(one) for one in spec.get(part) or ()]
    own = parsed((spec.get("resources") or {}).get("requests"))
    sums: Amounts = total(filled, "requests") | {name: own[name] for name in ("cpu", "memory") if name in own}
    extra = parsed(spec.get("overhead"))
    cpu, memory = (sums.get(name, Quantity(0)) + extra.get(name, Quantity(0)) for name in ("cpu", "memory"))
    return cpu.milli_value(), memory.value()


def _with_defaults(container: Document) -> Document:
    resources = container.get("resources") or {}
    requests = {"cpu": _DEFAULT_CPU, "memory": _DEFAULT_MEMORY} | (resources.get("requests") or {})
    return container | {"resources": resources | {"requests": requests}}
