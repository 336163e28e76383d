"""Label selectors in objects: `matchLabels` and `matchExpressions`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pilotage.errors import BadRequest, Cause
from pilotage.meta.causes import forbidden, invalid, json_shown, required
from pilotage.meta.documents import Document
from pilotage.meta.selectors.selectors import Selector
from pilotage.meta.validation.names import label_value, qualified_name
from pilotage.meta.validation.objectmeta import labels_causes
from pilotage.server.strategies.checks import items, texts

_WITH_VALUES = ("In", "NotIn")
_WITHOUT_VALUES = ("Exists", "DoesNotExist")
OPERATORS = _WITH_VALUES + _WITHOUT_VALUES


def label_selector(selector: Document | None, path: str, *, any_value: bool = False) -> Iterator[Cause]:
    """What is wrong with a label selector. With `any_value` the values of expressions are not checked."""
    if not selector:
        return
    yield from labels_causes(selector.get("matchLabels") or {}, f"{path}.matchLabels")
    yield from items.each(
        selector.get("matchExpressions"), f"{path}.matchExpressions", check_requirement, any_value=any_value
    )


def check_requirement(
    expression: Document, path: str, *, any_value: bool = False, any_operator: bool = False
) -> Iterator[Cause]:
    """What is wrong with a term of a selector. With `any_operator` it may be one of a later version."""
    operator, values = expression.get("operator") or "", expression.get("values") or []
    yield from check_presence(operator, values, path)
    if operator not in OPERATORS and not any_operator:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    key = expression.get("key") or ""
    yield from texts.text(key, f"{path}.key", qualified_name)
    for index, value in enumerate(() if any_value else values):
        yield from texts.text(value, f"{path}.values[{index}]", label_value)


def check_presence(operator: str, values: Sequence[str], path: str) -> Iterator[Cause]:
    """Whether a term of a selector has values if its operator needs some; other operators are not checked."""
    if operator in _WITH_VALUES and not values:
        yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in _WITHOUT_VALUES and values:
        yield forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")


def is_empty(selector: Document | None) -> bool:
    """Whether a selector has no terms, so that it selects everything."""
    return not selector or not (selector.get("matchLabels") or selector.get("matchExpressions"))


def matching(selector: Document | None) -> Selector | None:
    """The parsed selector of an object; None if it has an invalid term."""
    try:
        return Selector.from_label_selector(selector or {})
    except BadRequest:
        return None


def selector_shown(selector: Mapping[str, Any] | None) -> str:
    """A selector as errors show it: JSON, labels before expressions, these with key, operator, values."""
    if selector is None:
        return "null"
    shown: dict[str, Any] = {}
    if labels := selector.get("matchLabels"):
        shown["matchLabels"] = dict(sorted(labels.items()))
    if expressions := selector.get("matchExpressions"):
        shown["matchExpressions"] = [_expression_shown(expression) for expression in expressions]
    return json_shown(shown)


def invalid_selector(path: str, selector: Mapping[str, Any] | None, detail: str) -> Cause:
    """The cause for a selector as a whole, with the selector in its message."""
    message = f"Invalid value: {selector_shown(selector)}"
    return Cause("FieldValueInvalid", f"{message}: {detail}" if detail else message, path)


def _expression_shown(expression: Mapping[str, Any]) -> dict[str, Any]:
    shown = {"key": expression.get("key", ""), "operator": expression.get("operator", "")}
    return shown | {"values": values} if (values := expression.get("values")) else shown
