"""The status of a ResourceClaim: the devices that are allocated to it, its consumers, and the state of the devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from functools import partial
from ipaddress import ip_interface

from pilotage.codec.verbatim import same_texts
from pilotage.errors import Cause
from pilotage.kubernetes.checks.addresses import network
from pilotage.kubernetes.checks.conditions import validate_conditions
from pilotage.kubernetes.core.pods.affinity import validate_node_selector
from pilotage.kubernetes.resource.devices import (
    MAX_CONFIGURATIONS,
    MAX_REQUESTS,
    validate_configuration_of,
    validate_parameters,
    validate_set,
)
from pilotage.kubernetes.resource.names import (
    RequestNames,
    request_names,
    validate_pool_name,
    validate_request_reference,
    validate_share,
)
from pilotage.meta.causes import forbidden, invalid
from pilotage.meta.documents import Document, canonical, same
from pilotage.meta.validation.names import dns_1123_label, qualified_name
from pilotage.server.strategies.checks import fields, items, texts

_MAX_RESERVATIONS = 256
_MAX_CONDITIONS = 8
_MAX_BINDING_CONDITIONS = 4
_MAX_INTERFACE = 256
_MAX_HARDWARE_ADDRESS = 128
_MAX_ADDRESSES = 16
_SOURCES = ("FromClaim", "FromClass")
_NO_INTERFACE = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"


def drop_deallocated_devices(claim: Document, old: Document) -> None:
    """Drop the status of devices that the claim had and does not have any more, in place."""
    status, gone = claim.get("status") or {}, _allocated(old) - _allocated(claim)
    if gone and status.get("devices"):
        claim["status"] = dict(status)
        claim["status"]["devices"] = [device for device in status["devices"] if _device(device) not in gone]


def validate_claim_status(claim: Document, old: Document) -> Iterator[Cause]:
    """What is wrong with the next status of a claim."""
    status, was = claim.get("status") or {}, old.get("status") or {}
    reservations, allocation = status.get("reservedFor") or (), status.get("allocation")
    yield from validate_set(
        reservations, "status.reservedFor", _MAX_RESERVATIONS, _validate_consumer, lambda each: each.get("uid") or ""
    )
    devices, check = status.get("devices") or (), partial(_validate_device_status, allocated=_allocated(claim))
    yield from validate_set(devices, "status.devices", len(devices), check, _device)  # of any number
    if reservations:
        yield from _validate_reservations(claim, was)
    if allocation is None:
        return
    if was.get("allocation") is None:
        known = request_names(claim["spec"].get("devices") or {})
        yield from _validate_allocation(allocation, "status.allocation", known)
    elif not (same(allocation, was["allocation"]) and same_texts(allocation, was["allocation"])):
        yield invalid("status.allocation", allocation, fields.IMMUTABLE)


def _allocated(claim: Document) -> set[Hashable]:
    devices = ((claim.get("status") or {}).get("allocation") or {}).get("devices") or {}
    return {_device(result) for result in devices.get("results") or ()}


def _device(item: Document) -> Hashable:
    return tuple(item.get(key) or "" for key in ("driver", "pool", "device", "shareID"))


def _validate_consumer(reference: Document, path: str) -> Iterator[Cause]:
    yield from fields.needed(reference, path, "resource", "name", "uid")


def _validate_reservations(claim: Document, was: Document) -> Iterator[Cause]:
    status = claim["status"]
    if status.get("allocation") is None:
        yield forbidden("status.reservedFor", "may not be specified when `allocated` is not set")
    elif claim["metadata"].get("deletionTimestamp"):
        before = Counter(canonical(each) for each in was.get("reservedFor") or ())
        if any(canonical(each) not in before for each in status["reservedFor"]):
            message = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
            yield forbidden("status.reservedFor", message)


def _validate_allocation(allocation: Document, path: str, known: RequestNames) -> Iterator[Cause]:
    devices = allocation.get("devices") or {}
    results, configs = devices.get("results") or (), devices.get("config") or ()
    yield from items.few(results, f"{path}.devices.results", MAX_REQUESTS, _validate_result, known)
    most = 2 * MAX_CONFIGURATIONS
    yield from items.few(configs, f"{path}.devices.config", most, _validate_allocated_configuration, known)
    yield from fields.given(allocation.get("nodeSelector"), f"{path}.nodeSelector", validate_node_selector)


def _validate_result(result: Document, path: str, known: RequestNames) -> Iterator[Cause]:
    yield from validate_request_reference(result.get("request") or "", f"{path}.request", known)
    yield from _validate_device_names(result, path)
    yield from validate_binding_conditions(result, path)
    yield from fields.given(result.get("shareID"), f"{path}.shareID", validate_share)


def _validate_device_names(item: Document, path: str) -> Iterator[Cause]:
    yield from texts.driver_name(item.get("driver") or "", f"{path}.driver")
    yield from validate_pool_name(item.get("pool") or "", f"{path}.pool")
    yield from texts.text(item.get("device") or "", f"{path}.device", dns_1123_label)


def validate_binding_conditions(result: Document, path: str) -> Iterator[Cause]:
    """Conditions that must be true, and others that must not be, before a pod is bound to a node."""
    names = ("bindingConditions", "bindingFailureConditions")
    positive, negative = (result.get(name) or () for name in names)
    for name, conditions in zip(names, (positive, negative), strict=True):
        yield from items.few(conditions, f"{path}.{name}", _MAX_BINDING_CONDITIONS, texts.text, qualified_name)
    for name, conditions in zip(names, (positive, negative), strict=True):
        seen: set[str] = set()
        for index, condition in enumerate(conditions[: _MAX_BINDING_CONDITIONS * 8]):
            at = f"{path}.{name}[{index}]"
            yield from items.unique(condition, at, seen)
            if name == names[1] and condition in positive:
                yield invalid(at, condition, "bindingFailureConditions must not overlap with bindingConditions")
    if negative and not positive:
        message = "bindingConditions are required to use bindingFailureConditions"
        yield invalid(f"{path}.bindingConditions", None, message)
    if positive and not negative:
        message = "bindingFailureConditions are required to use bindingConditions"
        yield invalid(f"{path}.bindingFailureConditions", None, message)


def _validate_allocated_configuration(config: Document, path: str, known: RequestNames) -> Iterator[Cause]:
    yield from fields.required_choice(config.get("source"), f"{path}.source", _SOURCES)
    yield from validate_configuration_of(config, path, known)


def _validate_device_status(device: Document, path: str, allocated: set[Hashable]) -> Iterator[Cause]:
    yield from _validate_device_names(device, path)
    yield from fields.given(device.get("shareID"), f"{path}.shareID", validate_share)
    if _device(device) not in allocated:
        keys = (("Driver", "driver"), ("Pool", "pool"), ("Device", "device"), ("ShareID", "shareID"))
        shown = {name: device.get(key) or "" for name, key in keys}
        yield invalid(path, shown, "must be an allocated device in the claim")
    conditions = device.get("conditions") or ()
    yield from items.at_most(conditions, f"{path}.conditions", _MAX_CONDITIONS)
    yield from validate_conditions(conditions, f"{path}.conditions")
    yield from fields.given(device.get("data"), f"{path}.data", validate_parameters)
    yield from fields.given(device.get("networkData"), f"{path}.networkData", _validate_network)


def _validate_network(data: Document, path: str) -> Iterator[Cause]:
    for name, most in (("interfaceName", _MAX_INTERFACE), ("hardwareAddress", _MAX_HARDWARE_ADDRESS)):
        yield from texts.length((data.get(name) or ""), f"{path}.{name}", most)
    yield from validate_set(data.get("ips") or (), f"{path}.ips", _MAX_ADDRESSES, _validate_interface, str)


def _validate_interface(text: str, path: str) -> Iterator[Cause]:
    if network(text) is None:
        yield invalid(path, text, _NO_INTERFACE)
        return
    try:
        better = ip_interface(text).with_prefixlen
    except ValueError:
        better = ""
    if text != better:
        yield invalid(path, text, f'must be in canonical form ("{better}")')
