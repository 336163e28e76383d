"""Claims of devices: requests, selectors, tolerations, constraints and configuration."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any

from pilotage.errors import Cause
from pilotage.kubernetes.resource import names
from pilotage.meta.causes import duplicate, invalid, not_supported, required, too_long
from pilotage.meta.documents import Document, canonical
from pilotage.meta.validation.names import dns_1123_label, label_value, qualified_name
from pilotage.schema.cel.scope import selector_problem
from pilotage.server.strategies.checks import fields, items, texts

MAX_REQUESTS = 32
MAX_CONFIGURATIONS = 32
_MAX_CONSTRAINTS = 32
_MAX_SELECTORS = 32
_MAX_ALTERNATIVES = 8
_MAX_EXPRESSION = 10 * 1024
_MAX_PARAMETERS = 10 * 1024
_MODES = ("All", "ExactCount")
_OPERATORS = ("Equal", "Exists")
EFFECTS = ("NoExecute", "NoSchedule", "None")
_ONE_OF = "exactly one of `exactly` or `firstAvailable` is required"

Check = Callable[[Any, str], Iterator[Cause]]


def validate_device_claim(devices: Document, path: str) -> Iterator[Cause]:
    """What is wrong with the requests of a claim."""
    known = names.request_names(devices)
    requests = devices.get("requests") or ()
    yield from validate_set(requests, f"{path}.requests", MAX_REQUESTS, _validate_request, item_name)
    constraints, configs = devices.get("constraints") or (), devices.get("config") or ()
    yield from items.few(constraints, f"{path}.constraints", _MAX_CONSTRAINTS, _validate_constraint, known)
    yield from items.few(configs, f"{path}.config", MAX_CONFIGURATIONS, validate_configuration_of, known)


def validate_set(
    values: Sequence[Any], path: str, most: int, check: Check, key: Callable[[Any], Hashable]
) -> Iterator[Cause]:
    """Items that differ by their keys, and of which there are at most `most`."""
    yield from items.few(values, path, most, check)
    if len(values) <= most:
        yield from (duplicate(f"{path}[{index}]", own) for index, own in items.repeated(map(key, values)))


def validate_configuration_of(config: Document, path: str, known: names.RequestNames) -> Iterator[Cause]:
    """Configuration for the driver of some of the requests."""
    yield from validate_references(config, path, known)
    yield from validate_configuration(config, path)


def validate_references(holder: Document, path: str, known: names.RequestNames) -> Iterator[Cause]:
    """The names of requests that a constraint or a configuration is for."""
    check = partial(names.validate_request_reference, known=known)
    yield from validate_set(holder.get("requests") or (), f"{path}.requests", MAX_REQUESTS, check, str)


def validate_configuration(config: Document, path: str) -> Iterator[Cause]:
    """Configuration that only the driver understands."""
    opaque = config.get("opaque")
    if opaque is None:
        yield required(f"{path}.opaque")
        return
    yield from texts.driver_name(opaque.get("driver") or "", f"{path}.opaque.driver")
    yield from validate_parameters(opaque.get("parameters"), f"{path}.opaque.parameters")


def validate_parameters(value: Any, path: str) -> Iterator[Cause]:
    """A JSON object of limited size."""
    if value is None:
        yield required(path)
    elif len(canonical(value)) > _MAX_PARAMETERS:
        yield too_long(path, _MAX_PARAMETERS)
    elif not isinstance(value, dict):
        yield invalid(path, "<value omitted>", "must be a valid JSON object")


def validate_selectors(selectors: Sequence[Document], path: str) -> Iterator[Cause]:
    """Expressions that a device must meet."""
    yield from items.few(selectors, path, _MAX_SELECTORS, _validate_selector)


def _validate_selector(selector: Document, path: str) -> Iterator[Cause]:
    cel = selector.get("cel")
    if cel is None:
        yield required(f"{path}.cel")
        return
    expression, at = cel.get("expression") or "", f"{path}.cel.expression"
    if len(expression.encode(errors="replace")) > _MAX_EXPRESSION:
        yield too_long(at, _MAX_EXPRESSION)
    elif problem := selector_problem(expression):
        yield invalid(at, expression, problem)


def _validate_request(request: Document, path: str) -> Iterator[Cause]:
    yield from texts.text(request.get("name") or "", f"{path}.name", dns_1123_label)
    exact, alternatives = request.get("exactly"), request.get("firstAvailable") or ()
    if exact is None and not alternatives:
        yield required(path, _ONE_OF)
    elif exact is not None and alternatives:
        yield invalid(path, None, f"{_ONE_OF}, but multiple fields are set")
    elif exact is not None:
        yield from _validate_exact(exact, f"{path}.exactly")
    else:
        yield from validate_set(
            alternatives, f"{path}.firstAvailable", _MAX_ALTERNATIVES, _validate_alternative, item_name
        )


def _validate_alternative(request: Document, path: str) -> Iterator[Cause]:
    yield from texts.text(request.get("name") or "", f"{path}.name", dns_1123_label)
    yield from _validate_exact(request, path)


def _validate_exact(request: Document, path: str) -> Iterator[Cause]:
    yield from texts.required_text(request.get("deviceClassName"), f"{path}.deviceClassName")
    yield from validate_selectors(request.get("selectors") or (), f"{path}.selectors")
    mode, count = request.get("allocationMode") or "", request.get("count") or 0
    if mode == "All":
        if count:
            yield invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount":
        if count <= 0:
            yield invalid(f"{path}.count", count, "must be greater than zero")
    else:
        yield not_supported(f"{path}.allocationMode", mode, _MODES)
    yield from items.each(request.get("tolerations"), f"{path}.tolerations", _validate_toleration)


def _validate_toleration(toleration: Document, path: str) -> Iterator[Cause]:
    operator, value = toleration.get("operator") or "", toleration.get("value") or ""
    yield from texts.optional_text(toleration.get("key"), f"{path}.key", qualified_name)
    if operator == "Exists":
        if value:
            yield invalid(f"{path}.value", value, "must be empty for operator `Exists`")
    elif operator == "Equal":
        yield from texts.text(value, f"{path}.value", label_value)
    else:
        yield from fields.required_choice(operator, f"{path}.operator", _OPERATORS)
    yield from fields.optional_choice(toleration.get("effect") or None, f"{path}.effect", EFFECTS)


def _validate_constraint(constraint: Document, path: str, known: names.RequestNames) -> Iterator[Cause]:
    yield from validate_references(constraint, path, known)
    for name in ("matchAttribute", "distinctAttribute"):
        if (attribute := constraint.get(name)) is not None:
            yield from names.validate_attribute_name(attribute, f"{path}.{name}")
            return
    message = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
    yield required(path, message)


def item_name(item: Document) -> str:
    """The name of a request, a device or a set of counters."""
    return item.get("name") or ""
