"""How much of a device's capacity one claim can request, where several share the device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.causes import duplicate, forbidden, invalid, required, too_many
from pilotage.meta.documents import Document
from pilotage.meta.scalars.quantity import Quantity
from pilotage.server.strategies.checks.items import repeated
from pilotage.server.strategies.checks.quantities import quantity

_MAX_VALUES = 10
_ONE_POLICY = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'


def validate_request_policy(policy: Document, capacity: Any, path: str) -> Iterator[Cause]:
    """What is wrong with a policy for a device that has this capacity."""
    values, limits, usual = policy.get("validValues") or (), policy.get("validRange"), policy.get("default")
    if values and limits is not None:
        yield forbidden(path, _ONE_POLICY)
    elif (values or limits is not None) and usual is None:
        yield required(f"{path}.default", f"required when {'validValues' if values else 'validRange'} is defined")
    elif values:
        yield from _validate_values(values, quantity(usual), quantity(capacity), f"{path}.validValues")
    elif limits is not None:
        yield from _validate_range(limits, quantity(usual), quantity(capacity), f"{path}.validRange")


def _validate_values(values: Sequence[Any], usual: Quantity, capacity: Quantity, path: str) -> Iterator[Cause]:
    amounts = [quantity(value) for value in values]
    for index in range(1, len(amounts)):
        if amounts[index - 1] > amounts[index]:
            yield invalid(f"{path}[{index}]", values[index], "values must be sorted in ascending order")
    if len(values) > _MAX_VALUES:
        yield too_many(path, len(values), _MAX_VALUES)
    else:
        for index, amount in enumerate(amounts):
            if amount > capacity:
                yield invalid(f"{path}[{index}]", values[index], f"option is larger than capacity value: {capacity}")
        for index, whole in repeated(amount.value() for amount in amounts):
            yield duplicate(f"{path}[{index}]", str(whole))
    if len(values) > _MAX_VALUES or usual not in amounts:
        yield invalid(path, str(usual), "default value is not valid according to the requestPolicy")


def _validate_range(limits: Document, usual: Quantity, capacity: Quantity, path: str) -> Iterator[Cause]:
    if limits.get("min") is None:
        yield required(f"{path}.min", "required when validRange is defined")
        return
    least = quantity(limits["min"])
    most = quantity(limits["max"]) if limits.get("max") is not None else None
    if least > capacity:
        yield invalid(f"{path}.min", str(least), f"min is larger than capacity value: {capacity}")
    if usual < least:
        yield invalid(f"{path}.min", str(usual), f"default is less than min: {least}")
    if most is not None:
        if least > most:
            yield invalid(f"{path}.max", str(least), f"min is larger than max: {most}")
        if most > capacity:
            yield invalid(f"{path}.max", str(most), f"max is larger than capacity value: {capacity}")
        if usual > most:
            yield invalid(f"{path}.max", str(usual), f"default is more than max: {most}")
    if limits.get("step") is not None:
        multiples = [usual, most] if most is not None else [usual]
        yield from _validate_step(quantity(limits["step"]), least, multiples, capacity, f"{path}.step")


def _validate_step(
    step: Quantity, least: Quantity, multiples: list[Quantity], capacity: Quantity, path: str
) -> Iterator[Cause]:
    if least + step > capacity:
        yield invalid(path, str(step), f"one step {least + step} is larger than capacity value: {capacity}")
    for amount in multiples:
        if not step.value() or (amount.value() - least.value()) % step.value():
            yield invalid(path, str(amount), f"value is not a multiple of a given step ({step}) from ({least})")
