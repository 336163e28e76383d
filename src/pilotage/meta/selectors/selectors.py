"""Selectors: select objects by their labels or by their fields.

`Selector` has Kubernetes' label language (`app=web, tier in (a,b), !canary`), `FieldSelector` the one for fields
(`status.phase!=Running`). Both are values: parsed once, compared by their requirements, printed in one canonical form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NoReturn

from msgspec import Struct, to_builtins
from msgspec.structs import force_setattr

from pilotage.errors import BadRequest
from pilotage.meta.causes import quoted
from pilotage.meta.selectors.language import Operator, bad, parse
from pilotage.meta.validation.names import label_value, qualified_name
from pilotage.meta.values import Value

MAX_LENGTH = 4096
"""Characters that a selector may have as text."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,4096}", re.ASCII)
_INT64 = range(-(2**63), 2**63)
_EXPRESSIONS: dict[str, Operator] = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_SINGLE = ("=", "==", "!=")

Predicate = Callable[[Mapping[str, str]], bool]


class Requirement(Value, frozen=True):
    """One condition on a label. `values` are sorted, without duplicates."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        force_setattr(self, "values", tuple(sorted(set(self.values))))
        if messages := _requirement_messages(self):
            raise BadRequest(messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]")

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels match. A missing label matches `!=` and `notin`."""
        return _predicate(self)(labels)

    def __str__(self) -> str:
        if self.operator == "exists":
            return self.key
        if self.operator == "!":
            return f"!{self.key}"
        if self.operator in ("in", "notin"):
            return f"{self.key} {self.operator} ({','.join(self.values)})"
        return f"{self.key}{self.operator}{self.values[0]}"


class Selector:
    """A label selector: all of its requirements. Without any it selects everything. Immutable."""

    __slots__ = ("matches", "requirements")

    requirements: tuple[Requirement, ...]
    matches: Predicate
    """Whether an object with these labels is selected."""

    def __init__(self, requirements: tuple[Requirement, ...] = ()) -> None:
        ordered = tuple(sorted(requirements, key=_canonical_order))
        object.__setattr__(self, "requirements", ordered)
        object.__setattr__(self, "matches", _all([_predicate(requirement) for requirement in ordered]))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Selector is immutable")

    def __eq__(self, other: object) -> bool:
        return self.requirements == other.requirements if isinstance(other, Selector) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.requirements)

    def __repr__(self) -> str:
        return f"Selector(requirements={self.requirements!r})"

    @classmethod
    def parse(cls, text: str) -> Selector:
        """Read Kubernetes' label language. Raises BadRequest with its parser's words."""
        _check_length(text)
        return cls(tuple(parse(text, _check_key, lambda term: Requirement(*term))))

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> Selector:
        """Select objects with all of these labels and values."""
        return cls(tuple(Requirement(key, "=", (_string(value),)) for key, value in labels.items()))

    @classmethod
    def from_label_selector(cls, selector: Mapping[str, Any] | Struct) -> Selector:
        """From the form in objects: a mapping with `matchLabels` and `matchExpressions`, or a `LabelSelector`."""
        if isinstance(selector, Struct):
            selector = to_builtins(selector)
        if not isinstance(selector, Mapping):
            raise bad(f"a label selector is a LabelSelector or a mapping with matchLabels, not {selector!r:.100}")
        if unknown := sorted(map(str, selector.keys() - {"matchLabels", "matchExpressions"})):
            # If it were ignored, a misspelt key would select everything.
            raise bad(f"a label selector has matchLabels and matchExpressions, not {quoted(unknown[0])}")
        labels, expressions = selector.get("matchLabels") or {}, selector.get("matchExpressions") or []
        if not isinstance(labels, Mapping) or not isinstance(expressions, list):
            raise bad("a label selector has an object matchLabels and a list matchExpressions")
        found = [Requirement(key, "=", (_string(value),)) for key, value in labels.items()]
        found += [_expression(expression) for expression in expressions]
        return cls(tuple(found))

    def requires(self, key: str) -> str | None:
        """The one value that the label `key` must have, if there is just one."""
        for requirement in self.requirements:
            if requirement.key == key and requirement.operator in ("=", "==", "in") and len(requirement.values) == 1:
                return requirement.values[0]
        return None

    def __and__(self, other: Selector) -> Selector:
        return Selector(self.requirements + other.requirements)

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)

    def __reduce__(self) -> tuple[type[Selector], tuple[tuple[Requirement, ...]]]:
        return Selector, (self.requirements,)


class FieldRequirement(Value, frozen=True, order=True):
    """One condition on a field."""

    field: str
    operator: Literal["=", "!="]
    value: str

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether the field matches; a missing field counts as the empty string."""
        return (fields.get(self.field, "") == self.value) == (self.operator == "=")

    def __str__(self) -> str:
        return f"{self.field}{self.operator}{escaped(self.value)}"


class FieldSelector(Value, frozen=True):
    """A field selector: all of its requirements. Which fields there are depends on the kind."""

    requirements: tuple[FieldRequirement, ...] = ()

    def __post_init__(self) -> None:
        force_setattr(self, "requirements", tuple(sorted(self.requirements)))

    @classmethod
    def parse(cls, text: str) -> FieldSelector:
        """Read `a=b,c!=d`; a backslash escapes a comma, an equals sign or itself; empty terms are skipped."""
        _check_length(text)
        found = [_field_requirement(text, term) for term in sorted(_field_terms(text)) if term]
        return cls(tuple(requirement for requirement in found if requirement.field or requirement.value))

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether an object with these fields is selected; a missing field counts as empty."""
        return all(requirement.matches(fields) for requirement in self.requirements)

    def requires(self, name: str) -> str | None:
        """The value that the field must have, if it must have one."""
        for requirement in self.requirements:
            if requirement.field == name and requirement.operator == "=":
                return requirement.value
        return None

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)


def _check_length(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise bad(f"a selector may have {MAX_LENGTH} characters, this has {len(text)}: select by fewer values")


def _canonical_order(requirement: Requirement) -> tuple[str, str, tuple[str, ...]]:
    return (requirement.key, requirement.operator, requirement.values)


def _check_key(key: str) -> None:
    if messages := qualified_name(key):
        raise bad(f"<nil>: Invalid value: {quoted(key)}: {'; '.join(messages)}")


def _requirement_messages(requirement: Requirement) -> list[str]:
    key, operator, values = requirement.key, requirement.operator, requirement.values
    messages = []
    if found := qualified_name(key):
        messages.append(f"key: Invalid value: {quoted(key)}: {'; '.join(found)}")
    messages += _values_messages(operator, values)
    for index, value in enumerate(values):
        if found := label_value(value):
            messages.append(f"values[{index}][{key}]: Invalid value: {quoted(value)}: {'; '.join(found)}")
    return messages


def _values_messages(operator: Operator, values: tuple[str, ...]) -> list[str]:
    shown = "[" + ",".join(quoted(value) for value in values) + "]"
    if operator in ("in", "notin"):
        return (
            []
            if values
            else [f"values: Invalid value: {shown}: for 'in', 'notin' operators, values set can't be empty"]
        )
    if operator in ("exists", "!"):
        message = "values set must be empty for exists and does not exist"
        return [f"values: Invalid value: {shown}: {message}"] if values else []
    if operator in _SINGLE:
        message = "exact-match compatibility requires one single value"
        return [f"values: Invalid value: {shown}: {message}"] if len(values) != 1 else []
    messages = []
    if len(values) != 1:
        messages.append(f"values: Invalid value: {shown}: for 'Gt', 'Lt' operators, exactly one value is required")
    for index, value in enumerate(values):
        if _integer(value) is None:
            message = "for 'Gt', 'Lt' operators, the value must be an integer"
            messages.append(f"values[{index}]: Invalid value: {quoted(value)}: {message}")
    return messages


def _expression(expression: object) -> Requirement:
    if not isinstance(expression, Mapping):
        raise bad("each of matchExpressions is an object with key, operator and values")
    operator = _string(expression.get("operator", ""))
    if operator not in _EXPRESSIONS:
        raise bad(f"{quoted(operator)} is not a valid label selector operator")
    values = expression.get("values") or []
    if not isinstance(values, list):
        raise bad("values of a matchExpression is a list of strings")
    return Requirement(_string(expression.get("key", "")), _EXPRESSIONS[operator], tuple(_string(v) for v in values))


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise bad(f"keys, operators and values of a label selector are strings, not {type(value).__name__}")
    return value


def _all(predicates: list[Predicate]) -> Predicate:
    if not predicates:
        return lambda labels: True
    if len(predicates) == 1:
        return predicates[0]
    return lambda labels: all([predicate(labels) for predicate in predicates])  # noqa: C419 - a list is faster here


def _predicate(requirement: Requirement) -> Predicate:
    key, operator = requirement.key, requirement.operator
    if operator == "exists":
        return lambda labels: key in labels
    if operator == "!":
        return lambda labels: key not in labels
    if operator in (">", "<"):
        return _comparison(key, operator, requirement.values[0])
    if operator in ("=", "=="):
        value = requirement.values[0]
        return lambda labels: labels.get(key) == value
    values: frozenset[str | None] = frozenset(requirement.values)
    if operator == "in":
        return lambda labels: labels.get(key) in values
    return lambda labels: labels.get(key) not in values


def _comparison(key: str, operator: Operator, value: str) -> Predicate:
    limit = _integer(value)
    assert limit is not None  # the Requirement has checked it

    def compare(labels: Mapping[str, str]) -> bool:
        number = _integer(labels.get(key, ""))
        return number is not None and (number > limit if operator == ">" else number < limit)

    return compare


def _integer(text: str) -> int | None:
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None


def _field_terms(text: str) -> list[str]:
    found, start, escaped = [], 0, False
    for position, character in enumerate(text):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == ",":
            found.append(text[start:position])
            start = position + 1
    return [*found, text[start:]]


_FIELD_TERM = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)


def _field_requirement(text: str, term: str) -> FieldRequirement:
    match = _FIELD_TERM.fullmatch(term)
    if match is None:
        raise bad(f"invalid selector: '{text}'; can't understand '{term}'")
    return FieldRequirement(match[1], "!=" if match[2] == "!=" else "=", _unescaped(match[3]))


def escaped(value: str) -> str:
    """A value of a field selector with its special characters escaped."""
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


def _unescaped(text: str) -> str:
    found, characters = [], iter(text)
    for character in characters:
        if character == "\\":
            character = next(characters, "")
            if character not in ("\\", ",", "="):
                raise bad(f"invalid field selector: invalid escape sequence: \\{character}")
        elif character in (",", "="):
            # Kubernetes prints the character's number here.
            raise bad(f"invalid field selector: unescaped character in value: {ord(character)}")
        found.append(character)
    return "".join(found)
