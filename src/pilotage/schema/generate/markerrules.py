"""The CEL rules of a value: those that are written as `Rule`, and those that other markers imply."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pilotage.meta import markers as m
from pilotage.schema.cel.source import escaped, uses_old_self
from pilotage.schema.generate.description import ObjectOf, TypeDescription, invalid

_COUNTS = {
    m.AtMostOneOf: ("<= 1", "at most"),
    m.ExactlyOneOf: ("== 1", "exactly"),
    m.AtLeastOneOf: (">= 1", "at least"),
}


def validations(tree: TypeDescription, correlated: bool) -> list[dict[str, Any]]:
    """The rules of a value. `correlated`: the server can find its old value, which transition rules need."""
    found = [*_written(tree.markers), *_implied(tree)]
    for rule in found:
        _check(rule, correlated, tree.place)
    return [_document(rule) for rule in found]


def _written(markers: Sequence[m.Marker]) -> Iterator[m.Rule]:
    for marker in markers:
        if isinstance(marker, m.Rule):
            yield marker
        if isinstance(marker, m.Immutable):
            yield m.Rule("self == oldSelf", "the value may not be changed")


def _implied(tree: TypeDescription) -> Iterator[m.Rule]:
    for marker in tree.markers:
        if isinstance(marker, m.AtMostOneOf):
            yield _count(marker, tree)
    if isinstance(tree, ObjectOf):
        for field in tree.fields:
            immutable = any(isinstance(marker, m.Immutable) for marker in field.value.markers)
            if immutable and not field.required and not field.has_default:
                name = _cel_name(field.name, tree.place)
                yield m.Rule(
                    f"!has(oldSelf.{name}) || has(self.{name})", f"{field.name} may not be removed once it is set"
                )


def _count(marker: m.AtMostOneOf, tree: TypeDescription) -> m.Rule:
    kind = type(marker).__name__
    if not isinstance(tree, ObjectOf):
        raise invalid(tree.place, f"{kind} is for classes with fields", "mark a Model with it")
    if len(set(marker.fields)) < 2:
        raise invalid(tree.place, f"{kind} needs two fields or more", "list their JSON names")
    names = [field.name for field in tree.fields]
    for name in marker.fields:
        if name not in names:
            remedy = (
                f"use its JSON name {tree.attributes[name]!r}"
                if name in tree.attributes
                else f"the fields are: {', '.join(names)}"
            )
            raise invalid(tree.place, f"{kind} refers to {name!r}, which is not the JSON name of a field", remedy)
    comparison, words = _COUNTS[type(marker)]
    present = ", ".join(f"has(self.{_cel_name(name, tree.place)})" for name in marker.fields)
    message = f"{words} one of {', '.join(marker.fields)} {'may' if words == 'at most' else 'must'} be set"
    return m.Rule(f"[{present}].filter(set, set).size() {comparison}", message)


def _cel_name(name: str, place: str) -> str:
    found = escaped(name)
    if found is None:
        raise invalid(
            place, f"a CEL rule cannot refer to the field {name!r}", "rename it: letters, digits, '_', '-', '.'"
        )
    return found


def _check(rule: m.Rule, correlated: bool, place: str) -> None:
    shown = " ".join(rule.rule.split())
    if not shown:
        raise invalid(place, "a rule is empty", "write a CEL expression that must be true")
    if "\n" in rule.rule.strip() and not (rule.message or rule.message_expression):
        raise invalid(place, f"the rule {shown!r} has several lines and no message", "add a message")
    if "\n" in rule.message or (rule.message and not rule.message.strip()):
        raise invalid(place, f"the message of the rule {shown!r} is empty or has several lines", "write one line")
    transition = uses_old_self(rule.rule)
    if rule.optional_old_self is not None and not transition:
        raise invalid(place, f"the rule {shown!r} has optional_old_self, but does not use oldSelf", "remove the option")
    if transition and not correlated:
        raise invalid(
            place,
            f"the rule {shown!r} uses oldSelf, but there are no old values in atomic maps and lists without keys",
            'mark the list with ListType("map", key), or move the rule to the list itself',
        )


def _document(rule: m.Rule) -> dict[str, Any]:
    document = {
        "rule": rule.rule,
        "message": rule.message,
        "messageExpression": rule.message_expression,
        "reason": rule.reason,
        "fieldPath": rule.field_path,
        "optionalOldSelf": rule.optional_old_self,
    }
    return {key: value for key, value in document.items() if value not in ("", None)}
