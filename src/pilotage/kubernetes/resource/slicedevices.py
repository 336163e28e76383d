"""A device in a ResourceSlice: its attributes and capacity, its taints, the counters that it consumes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from pilotage.errors import Cause
from pilotage.kubernetes.checks import resourcenames
from pilotage.kubernetes.checks.quantities import quantity
from pilotage.kubernetes.core.pods.affinity import validate_node_selector
from pilotage.kubernetes.resource.allocation import validate_binding_conditions
from pilotage.kubernetes.resource.devices import EFFECTS, validate_set
from pilotage.kubernetes.resource.names import validate_attribute_name
from pilotage.meta.causes import duplicate, forbidden, invalid, not_found, required, too_many
from pilotage.meta.documents import Document, same
from pilotage.meta.scalars.quantity import Quantity
from pilotage.meta.validation.names import dns_1123_label, label_value, qualified_name
from pilotage.server.strategies.checks import fields, items, texts

_MAX_POLICY_VALUES = 10
_ONE_POLICY = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
LISTS = ("bools", "ints", "strings", "versions")
_SCALARS = ("bool", "int", "string", "version")
_MAX_PROPERTIES = 32
_MAX_VALUES = 48
_MAX_VALUE = 64
_MAX_TAINTS = 16
_MAX_CONSUMPTIONS = 2
_MAX_COUNTERS = 32
_MAX_KEY = 63 + 1 + 32
_PRERELEASE = r"(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_is_version = re.compile(
    r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){2}"
    rf"(?:-{_PRERELEASE}(?:\.{_PRERELEASE})*)?(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?"
).fullmatch
_NO_VERSION = "must be a string compatible with semver.org spec 2.0.0"
_WHERE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
_NOWHERE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the "
    "ResourceSlice spec"
)


class NodeSelection(Enum):
    """Selects the nodes on which a device can be used."""

    BY_SLICE = "slice"
    BY_DEVICE = "device"


def validate_device(device: Document, old: Document | None, path: str, selection: NodeSelection) -> Iterator[Cause]:
    yield from texts.text(device.get("name") or "", f"{path}.name", dns_1123_label)
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    yield from _validate_sizes(attributes, capacity, path)
    for name, attribute in attributes.items():
        yield from validate_attribute_name(name, f"{path}.attributes", full=False)
        yield from _validate_attribute(attribute, f"{path}.attributes[{_shortened(name, _MAX_KEY)}]")
    for name, amount in capacity.items():
        yield from validate_attribute_name(name, f"{path}.capacity", full=False)
        at = f"{path}.capacity[{_shortened(name, _MAX_KEY)}]"
        yield from _validate_capacity(amount, at, shared=device.get("allowMultipleAllocations") is True)
    taints = device.get("taints") or []
    if old is None or not same(taints, old.get("taints") or []):
        yield from items.few(taints, f"{path}.taints", _MAX_TAINTS, _validate_taint)
    consumptions, key = device.get("consumesCounters") or [], lambda each: each.get("counterSet") or ""
    yield from validate_set(consumptions, f"{path}.consumesCounters", _MAX_CONSUMPTIONS, _validate_consumption, key)
    yield from _validate_nodes(device, path, selection)
    yield from validate_binding_conditions(device, path)
    mappings = device.get("nodeAllocatableResourceMappings") or {}
    yield from _validate_mappings(mappings, capacity, f"{path}.nodeAllocatableResourceMappings")


def validate_counters(counters: Document, path: str) -> Iterator[Cause]:
    """Counters by their names."""
    if not counters:
        yield required(path)
    elif len(counters) > _MAX_COUNTERS:
        yield too_many(path, len(counters), _MAX_COUNTERS)
    else:
        for name in counters:
            yield from texts.text(name, path, dns_1123_label)


def _validate_sizes(attributes: Document, capacity: Document, path: str) -> Iterator[Cause]:
    properties = len(attributes) + len(capacity)
    if properties > _MAX_PROPERTIES:
        words = f"the total number of attributes and capacities must not exceed {_MAX_PROPERTIES}"
        yield invalid(path, properties, words)
    values = sum(sum(len(each.get(name) or ()) for name in LISTS) or 1 for each in attributes.values())
    if values > _MAX_VALUES:
        yield invalid(path, values, f"the total number of attribute values must not exceed {_MAX_VALUES}")


def _validate_attribute(attribute: Document, path: str) -> Iterator[Cause]:
    """One value, or a list of values of one type."""
    for name, plural in (("string", "strings"), ("version", "versions")):
        values = [(attribute[name], f"{path}.{name}")] if attribute.get(name) is not None else []
        values += [(value, f"{path}.{plural}[{index}]") for index, value in enumerate(attribute.get(plural) or ())]
        for value, at in values:
            if name == "version" and not _is_version(value):
                yield invalid(at, value, _NO_VERSION)
            yield from texts.length(value, at, _MAX_VALUE)
    given = [name for name in (*_SCALARS, *LISTS) if attribute.get(name) is not None]
    if len(given) != 1:
        yield invalid(path, "" if not given else attribute, "exactly one value must be specified", whole=True)


def _validate_capacity(amount: Document, path: str, *, shared: bool) -> Iterator[Cause]:
    policy = amount.get("requestPolicy")
    if policy is None:
        return
    if shared:
        yield from validate_request_policy(policy, amount.get("value"), f"{path}.requestPolicy")
    else:
        yield forbidden(f"{path}.requestPolicy", "allowMultipleAllocations must be true")


def _validate_taint(taint: Document, path: str) -> Iterator[Cause]:
    yield from texts.text(taint.get("key") or "", f"{path}.key", qualified_name)
    yield from texts.text(taint.get("value") or "", f"{path}.value", label_value)
    yield from fields.required_choice(taint.get("effect"), f"{path}.effect", EFFECTS)


def _validate_consumption(consumption: Document, path: str) -> Iterator[Cause]:
    yield from texts.required_text(consumption.get("counterSet"), f"{path}.counterSet", dns_1123_label)
    yield from validate_counters(consumption.get("counters") or {}, f"{path}.counters")


def _validate_nodes(device: Document, path: str, selection: NodeSelection) -> Iterator[Cause]:
    if selection is NodeSelection.BY_SLICE:
        if any(device.get(name) is not None for name in ("nodeName", "nodeSelector", "allNodes")):
            yield invalid(path, None, _NOWHERE)
        return
    if device.get("nodeName") == "":
        yield invalid(f"{path}.nodeName", "", "must not be empty")
    yield from texts.optional_text(device.get("nodeName"), f"{path}.nodeName")
    yield from fields.given(device.get("nodeSelector"), f"{path}.nodeSelector", validate_node_selector)
    yield from validate_one_place(device, path, ("allNodes",), _WHERE, _WHERE)


def validate_one_place(holder: Document, path: str, flags: Sequence[str], none: str, several: str) -> Iterator[Cause]:
    """Where devices can be used: on a node, on selected nodes, or what one of the flags means. Exactly one is set."""
    for name in flags:
        if holder.get(name) is False:
            yield invalid(f"{path}.{name}", False, "must be either unset or set to true")
    chosen = [
        f"`{name}`"
        for name in ("nodeName", "nodeSelector", *flags)
        if holder.get(name) or (name == "nodeSelector" and holder.get(name) is not None)
    ]
    if not chosen:
        yield required(path, none)
    elif len(chosen) > 1:
        yield invalid(path, f"{{{', '.join(chosen)}}}", several)


def _validate_mappings(mappings: Mapping[str, Document], capacity: Document, path: str) -> Iterator[Cause]:
    """Which resources of a node a device counts as; the release has them switched off, so only old objects have any."""
    for name, mapping in mappings.items():
        at, key, factor = f"{path}[{name}]", mapping.get("capacityKey"), mapping.get("allocationMultiplier")
        if not resourcenames.is_native(name):
            yield invalid(at, name, "must be a node allocatable resource name")
        if factor is not None and quantity(factor) <= quantity(0):
            yield invalid(f"{at}.allocationMultiplier", factor, "must be positive")
        if key == "":
            yield invalid(f"{at}.capacityKey", "", "capacityKey must not be an empty string")
        elif key is not None and key not in capacity:
            yield not_found(f"{at}.capacityKey", key)


def _shortened(key: str, most: int) -> str:
    """A key in a path: the middle of a long key is omitted."""
    if len(key) <= most:
        return key
    rest = most - 3
    return f"{key[: (rest + 1) // 2]}...{key[len(key) - rest // 2 :]}"


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
    if len(values) > _MAX_POLICY_VALUES:
        yield too_many(path, len(values), _MAX_POLICY_VALUES)
    else:
        for index, amount in enumerate(amounts):
            if amount > capacity:
                yield invalid(f"{path}[{index}]", values[index], f"option is larger than capacity value: {capacity}")
        for index, whole in items.repeated(amount.value() for amount in amounts):
            yield duplicate(f"{path}[{index}]", str(whole))
    if len(values) > _MAX_POLICY_VALUES or usual not in amounts:
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
