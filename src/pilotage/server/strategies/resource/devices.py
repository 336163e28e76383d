"""Claims of devices: requests, selectors, tolerations, constraints and configuration."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.causes import duplicate, invalid, not_supported, required, too_long, too_many
from pilotage.meta.documents import Document, canonical
from pilotage.meta.validation.names import dns_1123_label, label_value, qualified_name
from pilotage.schema.cel.scope import selector_problem
from pilotage.server.strategies.checks.items import repeated, validate_each
from pilotage.server.strategies.checks.texts import (
    validate_driver_name,
    validate_optional_text,
    validate_required_text,
    validate_text,
)
from pilotage.server.strategies.resource.names import (
    RequestNames,
    request_names,
    validate_attribute_name,
    validate_request_reference,
)
from pilotage.server.strategies.strategy import default_empty

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


def default_device_claim(devices: Document) -> None:
    """Fill in the defaults of the requests of a claim, in place."""
    for request in devices.get("requests") or ():
        exact = request.get("exactly")
        for each in (*(() if exact is None else (exact,)), *(request.get("firstAvailable") or ())):
            default_empty(each, "allocationMode", "ExactCount")
            if each["allocationMode"] == "ExactCount" and not each.get("count"):
                each["count"] = 1
            for toleration in each.get("tolerations") or ():
                default_empty(toleration, "operator", "Equal")


def validate_device_claim(devices: Document, path: str) -> Iterator[Cause]:
    """What is wrong with the requests of a claim."""
    known = request_names(devices)
    requests = devices.get("requests") or ()
    yield from validate_set(requests, f"{path}.requests", MAX_REQUESTS, _validate_request, _name)
    constraints = devices.get("constraints") or ()
    if len(constraints) > _MAX_CONSTRAINTS:
        yield too_many(f"{path}.constraints", len(constraints), _MAX_CONSTRAINTS)
    else:
        yield from validate_each(constraints, f"{path}.constraints", _validate_constraint, known)
    yield from validate_configurations(devices.get("config") or (), f"{path}.config", MAX_CONFIGURATIONS, known)


def validate_set(
    items: Sequence[Any], path: str, most: int, check: Check, key: Callable[[Any], Hashable]
) -> Iterator[Cause]:
    """Items that differ by their keys; `most` is how many there may be, -1 for any number."""
    if 0 <= most < len(items):
        yield too_many(path, len(items), most)
        return
    yield from validate_each(items, path, check)
    yield from (duplicate(f"{path}[{index}]", own) for index, own in repeated(map(key, items)))


def validate_configurations(items: Sequence[Document], path: str, most: int, known: RequestNames) -> Iterator[Cause]:
    """Configuration for the drivers, each for some of the requests."""
    if len(items) > most:
        yield too_many(path, len(items), most)
        return
    for index, item in enumerate(items):
        yield from validate_references(item, f"{path}[{index}]", known)
        yield from validate_configuration(item, f"{path}[{index}]")


def validate_references(holder: Document, path: str, known: RequestNames) -> Iterator[Cause]:
    """The names of requests that a constraint or a configuration is for."""

    def check(name: str, place: str) -> Iterator[Cause]:
        return validate_request_reference(name, place, known)

    yield from validate_set(holder.get("requests") or (), f"{path}.requests", MAX_REQUESTS, check, str)


def validate_configuration(config: Document, path: str) -> Iterator[Cause]:
    """Configuration that only the driver understands."""
    opaque = config.get("opaque")
    if opaque is None:
        yield required(f"{path}.opaque")
        return
    yield from validate_driver_name(opaque.get("driver") or "", f"{path}.opaque.driver")
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
    if len(selectors) > _MAX_SELECTORS:
        yield too_many(path, len(selectors), _MAX_SELECTORS)
        return
    for index, selector in enumerate(selectors):
        cel = selector.get("cel")
        if cel is None:
            yield required(f"{path}[{index}].cel")
            continue
        expression, place = cel.get("expression") or "", f"{path}[{index}].cel.expression"
        if len(expression.encode(errors="replace")) > _MAX_EXPRESSION:
            yield too_long(place, _MAX_EXPRESSION)
        elif problem := selector_problem(expression):
            yield invalid(place, expression, problem)


def _validate_request(request: Document, path: str) -> Iterator[Cause]:
    yield from validate_text(request.get("name") or "", f"{path}.name", dns_1123_label)
    exact, alternatives = request.get("exactly"), request.get("firstAvailable") or ()
    if exact is None and not alternatives:
        yield required(path, _ONE_OF)
    elif exact is not None and alternatives:
        yield invalid(path, None, f"{_ONE_OF}, but multiple fields are set")
    elif exact is not None:
        yield from _validate_exact(exact, f"{path}.exactly")
    else:
        yield from validate_set(alternatives, f"{path}.firstAvailable", _MAX_ALTERNATIVES, _validate_alternative, _name)


def _validate_alternative(request: Document, path: str) -> Iterator[Cause]:
    yield from validate_text(request.get("name") or "", f"{path}.name", dns_1123_label)
    yield from _validate_exact(request, path)


def _validate_exact(request: Document, path: str) -> Iterator[Cause]:
    yield from validate_required_text(request.get("deviceClassName"), f"{path}.deviceClassName")
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
    yield from validate_each(request.get("tolerations"), f"{path}.tolerations", _validate_toleration)


def _validate_toleration(toleration: Document, path: str) -> Iterator[Cause]:
    operator, value = toleration.get("operator") or "", toleration.get("value") or ""
    yield from validate_optional_text(toleration.get("key"), f"{path}.key", qualified_name)
    if operator == "Exists":
        if value:
            yield invalid(f"{path}.value", value, "must be empty for operator `Exists`")
    elif operator == "Equal":
        yield from validate_text(value, f"{path}.value", label_value)
    elif not operator:
        yield required(f"{path}.operator")
    else:
        yield not_supported(f"{path}.operator", operator, _OPERATORS)
    if (effect := toleration.get("effect")) and effect not in EFFECTS:
        yield not_supported(f"{path}.effect", effect, EFFECTS)


def _validate_constraint(constraint: Document, path: str, known: RequestNames) -> Iterator[Cause]:
    yield from validate_references(constraint, path, known)
    for name in ("matchAttribute", "distinctAttribute"):
        if (attribute := constraint.get(name)) is not None:
            yield from validate_attribute_name(attribute, f"{path}.{name}")
            return
    message = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
    yield required(path, message)


def _name(item: Document) -> str:
    return item.get("name") or ""
