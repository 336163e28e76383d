"""The metrics of an autoscaler: of resources, pods, objects, and external ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.checks import resourcenames
from pilotage.kubernetes.checks.quantities import quantity
from pilotage.meta.causes import forbidden, invalid, not_supported, required
from pilotage.meta.documents import Document
from pilotage.meta.scalars.quantity import Quantity
from pilotage.meta.validation.names import dns_1123_label, path_segment_name
from pilotage.server.strategies.checks import texts

_SOURCES = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
"""From the type of a metric to its field, in the order in which they are checked."""
_TYPES = tuple(sorted(_SOURCES))
_TARGETS = ("Utilization", "Value", "AverageValue")


def validate_reference(reference: Document, path: str, *, core: bool, checked: bool = True) -> Iterator[Cause]:
    """A reference to an object: of which kind, which name, and which version, unless that is not `checked`."""
    for key in ("kind", "name"):
        value = reference.get(key) or ""
        if not value:
            yield required(f"{path}.{key}")
        yield from texts.text(value, f"{path}.{key}", path_segment_name)
    version = reference.get("apiVersion") or ""
    if checked and (problem := version_problem(version, core=core)):
        yield invalid(f"{path}.apiVersion", version, problem)


def version_problem(version: str, *, core: bool) -> str:
    """Why a text is not an apiVersion; only with `core` it may be one of the core group. Empty if it is."""
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    group = version.partition("/")[0] if "/" in version else ""
    return "" if core or group else "apiVersion must specify API group"


def validate_metric(metric: Document, path: str, *, checked: bool = True) -> Iterator[Cause]:
    """A metric has a type, and the one field of that type. `checked`: so are the versions of objects."""
    kind = metric.get("type") or ""
    if not kind:
        yield required(f"{path}.type", "must specify a metric source type")
    if kind not in _SOURCES:
        yield not_supported(f"{path}.type", kind, _TYPES)
    present = [name for name in _SOURCES.values() if metric.get(name) is not None]
    if present:
        source = metric[present[0]]
        if present[0] == "object":
            described = source.get("describedObject") or {}
            yield from validate_reference(described, f"{path}.object.describedObject", core=True, checked=checked)
        yield from _VALIDATORS[present[0]](source, f"{path}.{present[0]}")
    expected = _SOURCES.get(kind, "")
    if not expected:
        yield not_supported(f"{path}.type", kind, _TYPES)  # the real server reports it twice
    elif expected not in present:
        yield required(f"{path}.{expected}", "must populate information for the given metric source")
    if len(present) > 1:
        for name in present:
            if name != expected:
                yield forbidden(f"{path}.{name}", "must populate the given metric source only")


def _validate_identifier(metric: Document, path: str) -> Iterator[Cause]:
    name = metric.get("name") or ""
    if not name:
        yield required(f"{path}.name", "must specify a metric name")
    yield from texts.text(name, f"{path}.name", path_segment_name)


def _validate_target(target: Document, path: str) -> Iterator[Cause]:
    kind = target.get("type") or ""
    if not kind:
        yield required(f"{path}.type", "must specify a metric target type")
    if kind not in _TARGETS:
        yield invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    for key in ("value", "averageValue"):
        value = target.get(key)
        if value is not None and quantity(value) <= Quantity(0):
            yield invalid(f"{path}.{key}", value, "must be positive")
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        yield invalid(f"{path}.averageUtilization", utilization, "must be greater than 0")


def _validate_named(source: Document, path: str) -> Iterator[Cause]:
    yield from _validate_identifier(source.get("metric") or {}, f"{path}.metric")
    yield from _validate_target(source.get("target") or {}, f"{path}.target")


def _validate_object(source: Document, path: str) -> Iterator[Cause]:
    yield from _validate_named(source, path)
    target = source.get("target") or {}
    if target.get("value") is None and target.get("averageValue") is None:
        yield required(f"{path}.target.averageValue", "must set either a target value or averageValue")


def _validate_external(source: Document, path: str) -> Iterator[Cause]:
    yield from _validate_named(source, path)
    amounts = ("a target value for metric", "a per-pod target")
    yield from _validate_one_of(source.get("target") or {}, f"{path}.target", ("averageValue", "value"), amounts)


def _validate_pods(source: Document, path: str) -> Iterator[Cause]:
    yield from _validate_named(source, path)
    if (source.get("target") or {}).get("averageValue") is None:
        yield required(f"{path}.target.averageValue", "must specify a positive target averageValue")


def _validate_resource(source: Document, path: str) -> Iterator[Cause]:
    if not source.get("name"):
        yield required(f"{path}.name", "must specify a resource name")
    yield from _validate_resource_target(source.get("target") or {}, f"{path}.target")


def _validate_container_resource(source: Document, path: str) -> Iterator[Cause]:
    if name := source.get("name"):
        yield from resourcenames.container_resource_name(name, f"{path}.name")
    else:
        yield required(f"{path}.name", "must specify a resource name")
    container = source.get("container")
    yield from texts.required_text(container, f"{path}.container", dns_1123_label, "must specify a container")
    yield from _validate_resource_target(source.get("target") or {}, f"{path}.target")


def _validate_resource_target(target: Document, path: str) -> Iterator[Cause]:
    yield from _validate_target(target, path)
    amounts = ("a target raw value", "a target utilization")
    yield from _validate_one_of(target, path, ("averageUtilization", "averageValue"), amounts)


def _validate_one_of(target: Document, path: str, keys: tuple[str, str], amounts: tuple[str, str]) -> Iterator[Cause]:
    """One of two amounts, which messages call by their names."""
    given = [key for key in keys if target.get(key) is not None]
    if not given:
        yield required(f"{path}.{keys[0]}", f"must set either {' or '.join(amounts)}")
    elif len(given) == len(keys):
        yield forbidden(f"{path}.{keys[1]}", f"may not set both {' and '.join(amounts)}")


_VALIDATORS: dict[str, Callable[[Document, str], Iterator[Cause]]] = {
    "object": _validate_object,
    "external": _validate_external,
    "pods": _validate_pods,
    "resource": _validate_resource,
    "containerResource": _validate_container_resource,
}
