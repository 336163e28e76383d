"""ResourceSlices: the devices that a driver offers, on one node or on several."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.core.pods.affinity import validate_node_selector
from pilotage.kubernetes.resource.devices import item_name, validate_set
from pilotage.kubernetes.resource.names import validate_pool_name
from pilotage.kubernetes.resource.slicedevices import (
    LISTS,
    NodeSelection,
    validate_counters,
    validate_device,
    validate_one_place,
)
from pilotage.meta.causes import invalid
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import dns_1123_label
from pilotage.server.strategies.checks import fields, texts
from pilotage.server.strategies.strategy import Strategy

_MAX_DEVICES = 128
_MAX_ADVANCED_DEVICES = 64
"""How many devices there may be where one has taints or consumes counters."""
_MAX_COUNTER_SETS = 8
_WHERE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"


class ResourceSliceStrategy(Strategy):
    """Drivers write slices. Taints have the time when they were added."""

    def prepare_for_create(self, document: Document) -> None:
        super().prepare_for_create(document)
        _stamp_taints(document, document["metadata"].get("creationTimestamp") or "")
        _drop_alpha_fields(document, None)

    def prepare_for_update(self, document: Document, old: Document) -> None:
        super().prepare_for_update(document, old)
        _drop_alpha_fields(document, old)

    def stamp_update(self, document: Document, old: Document, now: str) -> None:
        _stamp_taints(document, now)

    def validate(self, document: Document) -> Iterator[Cause]:
        return _validate_spec(document.get("spec") or {}, None)

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return _validate_spec(document.get("spec") or {}, old.get("spec") or {})

    def canonicalize(self, document: Document) -> None:
        spec = document["spec"]
        for name in ("devices", "sharedCounters"):
            if not spec.get(name, True):
                del spec[name]

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        driver = document["spec"].get("driver") or ""
        if driver == driver.lower():
            return []
        return [f'spec.driver: driver names should be lowercase; "{driver}" contains uppercase characters']


def _devices(document: Document) -> list[Document]:
    return (document.get("spec") or {}).get("devices") or []


def _stamp_taints(document: Document, now: str) -> None:
    for device in _devices(document):
        for taint in device.get("taints") or ():
            if taint.get("timeAdded") is None and now:
                taint["timeAdded"] = now


def _drop_alpha_fields(document: Document, old: Document | None) -> None:
    """Drop what the release has switched off, unless the object has it already."""
    known = _devices(old) if old is not None else []
    mapped = any(device.get("nodeAllocatableResourceMappings") for device in known)
    listed = any(_has_lists(device) for device in known)
    for device in _devices(document):
        if not mapped:
            device.pop("nodeAllocatableResourceMappings", None)
        for attribute in (device.get("attributes") or {}).values() if not listed else ():
            for name in LISTS:
                attribute.pop(name, None)


def _has_lists(device: Document) -> bool:
    return any(attribute.get(name) for attribute in (device.get("attributes") or {}).values() for name in LISTS)


def _validate_spec(spec: Document, old: Document | None) -> Iterator[Cause]:
    pool = spec.get("pool") or {}
    yield from texts.driver_name(spec.get("driver") or "", "spec.driver")
    yield from _validate_pool(pool, "spec.pool")
    if old is not None:
        before = old.get("pool") or {}
        for path, value, was in (
            ("spec.pool.name", pool.get("name") or "", before.get("name") or ""),
            ("spec.driver", spec.get("driver") or "", old.get("driver") or ""),
            ("spec.nodeName", spec.get("nodeName"), old.get("nodeName")),
        ):
            if value != was:
                yield invalid(path, value, fields.IMMUTABLE)
    yield from _validate_nodes(spec)
    devices, counters = spec.get("devices") or [], spec.get("sharedCounters") or []
    if spec.get("devices") is not None and spec.get("sharedCounters") is not None:  # even if they are empty
        yield invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    yield from _validate_devices(devices, old, by_device=spec.get("perDeviceNodeSelection") is True)
    yield from validate_set(counters, "spec.sharedCounters", _MAX_COUNTER_SETS, _validate_counter_set, item_name)


def _validate_pool(pool: Document, path: str) -> Iterator[Cause]:
    yield from validate_pool_name(pool.get("name") or "", f"{path}.name")
    count, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if count <= 0:
        yield invalid(f"{path}.resourceSliceCount", count, "must be greater than zero")
    if generation < 0:
        yield invalid(f"{path}.generation", generation, "must be greater than or equal to zero")


def _validate_nodes(spec: Document) -> Iterator[Cause]:
    if spec.get("nodeName") == "":
        yield invalid("spec.nodeName", "", "must be either unset or set to a non-empty string")
    yield from texts.optional_text(spec.get("nodeName"), "spec.nodeName")
    if (selector := spec.get("nodeSelector")) is not None:
        yield from validate_node_selector(selector, "spec.nodeSelector")
        terms = selector.get("nodeSelectorTerms") or []
        if len(terms) != 1:
            path = "spec.nodeSelector.nodeSelectorTerms"
            yield invalid(path, terms, "must have exactly one node selector term", whole=True)
    flags = ("allNodes", "perDeviceNodeSelection")
    yield from validate_one_place(spec, "spec", flags, _WHERE, f"{_WHERE}, but multiple fields are set")


def _validate_devices(devices: list[Document], old: Document | None, *, by_device: bool) -> Iterator[Cause]:
    selection = NodeSelection.BY_DEVICE if by_device else NodeSelection.BY_SLICE
    known = {item_name(device): device for device in reversed((old or {}).get("devices") or ())}
    advanced = any(device.get("taints") or device.get("consumesCounters") or _has_lists(device) for device in devices)

    def check(device: Document, path: str) -> Iterator[Cause]:
        return validate_device(device, known.get(item_name(device)), path, selection)

    most = _MAX_ADVANCED_DEVICES if advanced else _MAX_DEVICES
    yield from validate_set(devices, "spec.devices", most, check, item_name)


def _validate_counter_set(counters: Document, path: str) -> Iterator[Cause]:
    yield from texts.required_text(counters.get("name"), f"{path}.name", dns_1123_label)
    yield from validate_counters(counters.get("counters") or {}, f"{path}.counters")
