"""Selectors in the forms in which a caller may give them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from pilotage.errors import BadRequest, InvalidDefinition
from pilotage.meta.selectors.selectors import FieldSelector, Selector, escaped

Labels = Mapping[str, str] | str | Selector | None
"""`{"app": "web"}`, `"app in (web, api), !canary"`, or a Selector."""

Fields = Mapping[str, str] | str | FieldSelector | None
"""`{"metadata.name": "a"}`, `"status.phase!=Running"`, or a FieldSelector."""


def selector_of(labels: Labels) -> Selector | None:
    """A label selector from any of the forms in which it may be given; None where it selects everything."""
    if labels is None or isinstance(labels, Selector):
        return labels or None
    if isinstance(labels, str):
        try:
            return Selector.parse(labels) or None
        except BadRequest as error:
            error.args = (f"{without_nil(str(error))}; the label selector is {labels!r}",)
            raise
    _check_form("labels", labels, '{"app": "web"}')
    return Selector.from_labels(labels) or None


def without_nil(message: str) -> str:
    """A message without what Go prints for an error that is about no field."""
    return message.replace("<nil>: Invalid value", "Invalid value")


def selector_text(labels: Labels) -> str:
    """A label selector in its wire form. Raises InvalidDefinition for what is none of the forms: `{"app": None}` would
    select the objects whose value is the text None."""
    if labels is None:
        return ""
    _check_form("labels", labels, '{"app": "web"}')
    if isinstance(labels, Mapping):
        return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return str(labels)


def field_text(fields: Fields) -> str:
    """A field selector in its wire form; special characters in a mapping's values are escaped. Raises InvalidDefinition
    for what is none of the forms."""
    if fields is None:
        return ""
    _check_form("fields", fields, '{"metadata.name": "a"}')
    if isinstance(fields, Mapping):
        return ",".join(f"{key}={escaped(value)}" for key, value in sorted(fields.items()))
    return str(fields)


def check_selection(labels: Labels, fields: Fields) -> None:
    """Raise InvalidDefinition for selectors that no server accepts: where they are given, not where they are used."""
    try:
        Selector.parse(selector_text(labels))
    except BadRequest as error:
        raise InvalidDefinition(f"labels={labels!r:.100} is not a label selector: {error}") from error
    try:
        FieldSelector.parse(field_text(fields))
    except BadRequest as error:
        raise InvalidDefinition(f"fields={fields!r:.100} is not a field selector: {error}") from error


def _check_form(what: str, given: object, example: str) -> None:
    pairs = isinstance(given, Mapping) and all(isinstance(text, str) for pair in given.items() for text in pair)
    if not pairs and not isinstance(given, str | Selector | FieldSelector | None):
        of_object = isinstance(given, Struct) or (isinstance(given, Mapping) and "matchLabels" in given)
        remedy = (
            f"from the LabelSelector of an object it is made by {what}=pt.meta.Selector.from_label_selector(…)"
            if of_object and what == "labels"
            else f"give a mapping of texts ({example}) or a text"
        )
        raise InvalidDefinition(f"{what}={given!r:.100} is not a selector: {remedy}")
