"""CEL rules (`x-kubernetes-validations`): compiled once for a schema, run after a document has passed it.

Values are passed dynamically: whether a field exists is checked when a rule is compiled, its type when it runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pilotage import errors
from pilotage.errors import Cause
from pilotage.meta import causes
from pilotage.schema import cel_values
from pilotage.schema.cel_budget import Budget, Shape, shape, without_literals
from pilotage.schema.structural.node import Node
from pilotage.schema.structural.paths import MapKey, Problem, Steps, dotted
from pilotage.schema.structural.ratchet import Comparison

MAXIMUM_MESSAGE = 5 * 1024
"""Bytes that a message expression may give."""

_OLD_SELF = re.compile(r"\boldSelf\b")
_PATH = re.compile(r"(?<![\w.])(self|oldSelf)((?:\s*\.\s*\w+(?!\w|\s*\())+)")
_VARIABLES = ("self", "oldSelf", "__self", "__oldSelf")
_REASONS = {
    "FieldValueForbidden": "Forbidden",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
}


class CompileError(errors.InvalidDefinition):
    """An expression that does not compile; the message is the compiler's."""


class _SpentError(Exception):
    """The budget is spent: no further rule runs."""


@dataclass(frozen=True)
class Expression:
    """A compiled expression over `self` and, perhaps, `oldSelf`."""

    text: str
    program: Any
    uses_old: bool
    shape: Shape
    returns: str

    def evaluate(self, value: Any, old: Any, present: bool) -> Any:
        """The result as a plain value. EvaluationError if the expression fails."""
        data = {"self": value, "oldSelf": old, "__self": value, "__oldSelf": old, "__present": present}
        try:
            result = self.program.eval(data=data)
            if str(result.type()) != "ERROR":
                return result.plain_value()
            told = str(result.value())
        except Exception as error:  # the binding raises RuntimeError, TypeError and whatever a function raised
            told = str(error)
        raise EvaluationError(_translated(told))


class EvaluationError(Exception):
    """An expression that failed on this value."""


@dataclass(frozen=True)
class Rule:
    """One entry of `x-kubernetes-validations`, compiled."""

    expression: Expression
    message: str
    message_expression: Expression | None
    reason: str
    field_path: Steps
    optional_old: bool

    @property
    def shown(self) -> str:
        return self.message.strip() or self.expression.text.strip()


@dataclass
class RuleNode:
    """The rules of a place, and the places below it that have some."""

    node: Node
    rules: list[Rule]
    convert: cel_values.Convert | None
    properties: dict[str, RuleNode] = field(default_factory=dict)
    additional: RuleNode | None = None
    items: RuleNode | None = None


class Rules:
    """All the rules of a schema."""

    def __init__(self, root: RuleNode) -> None:
        self._root = root

    def validate(self, document: Any, old: Any = None) -> list[Cause]:
        """What the rules say against a document; on an update, about what it changed."""
        run = _Run(self._root.node, document, old)
        with suppress(_SpentError):
            run.visit(self._root, document, old, ())
        return run.causes()


def compile_rules(root: Node) -> Rules | None:
    """Compile every rule of a schema; None if there is none."""
    if not _has_rules(root.schema):
        return None
    compiled = _compile_node(root, resource=root.root)
    return Rules(compiled) if compiled is not None else None


def compile_expression(text: str, node: Node, *, resource: bool = False, optional_old: bool = False) -> Expression:
    """Compile one expression over a place of the schema; CompileError with the compiler's words."""
    environment = _environment()
    uses_old = _OLD_SELF.search(without_literals(text)) is not None
    plain = _compiled(environment, text)
    _check_fields(text, node, resource)
    conversion = cel_values.typed(node, "__self")
    program = plain
    if conversion or (uses_old and optional_old):
        program = _compiled(environment, _wrapped(text, node, uses_old, optional_old))
    return Expression(text, program, uses_old, shape(text), str(plain.return_type()))


class _Run:
    """One document going through the rules."""

    def __init__(self, root: Node, document: Any, old: Any) -> None:
        self._budget = Budget(document, old)
        self._comparison = Comparison(root, document, old) if old is not None else None
        self._problems: list[Problem] = []

    def causes(self) -> list[Cause]:
        comparison = self._comparison
        return [
            each.cause
            for each in self._problems
            if comparison is None or not (each.ratchets and comparison.unchanged(each.steps))
        ]

    def visit(self, at: RuleNode, value: Any, old: Any, steps: Steps) -> None:
        if value is None:
            return
        if at.rules:
            self._rules(at, value, old, steps)
        if isinstance(value, dict):
            before = old if isinstance(old, dict) else {}
            for name, each in value.items():
                child, step = at.properties.get(name), name
                if child is None and at.additional is not None:
                    child, step = at.additional, MapKey(name)
                if child is not None:
                    self.visit(child, each, before.get(name), (*steps, step))
        elif isinstance(value, list) and at.items is not None:
            for index, each in enumerate(value):
                here = (*steps, index)
                self.visit(at.items, each, self._comparison.old_at(here) if self._comparison else None, here)

    def _rules(self, at: RuleNode, value: Any, old: Any, steps: Steps) -> None:
        kind = at.node.type
        if old is not None:
            old = cel_values.aligned(at.node, old, value)
        shown = value
        if at.convert is not None:
            value = at.convert(value)
            old = at.convert(old) if old is not None else None
        for rule in at.rules:
            if rule.expression.uses_old and old is None and not rule.optional_old:
                continue
            failed = self._failure(rule, value, old, kind, steps)
            if failed is None:
                continue
            where = dotted((*steps, *rule.field_path), keys_in_brackets=True)
            told = causes.shown(shown) if kind not in ("object", "array") else ""
            self._add(steps, _cause(where, rule.reason, told, failed), ratchets=not rule.expression.uses_old)

    def _failure(self, rule: Rule, value: Any, old: Any, kind: str, steps: Steps) -> str | None:
        """The message if the rule does not hold. What goes wrong with the rule itself is a cause, too."""
        present = old is not None
        where = dotted(steps, keys_in_brackets=True)
        if not self._budget.allows(rule.expression.shape):
            text = f"call cost exceeds limit for rule: {rule.shown}; no further validation rules will be run"
            self._add(steps, causes.invalid(where, kind, text), ratchets=False)
            raise _SpentError
        try:
            result = rule.expression.evaluate(value, old, present)
        except EvaluationError as error:
            self._add(steps, causes.invalid(where, kind, _told(str(error), rule)), ratchets=False)
            if "cost" in str(error):
                raise _SpentError from error
            return None
        if result is True:
            return None
        if result is not False:
            self._add(steps, causes.invalid(where, kind, f"not a bool evaluating rule: {rule.shown}"), ratchets=False)
            return None
        return self._message(rule, value, old, present)

    def _message(self, rule: Rule, value: Any, old: Any, present: bool) -> str:
        default = rule.message.strip() or f"failed rule: {rule.expression.text.strip()}"
        expression = rule.message_expression
        if expression is None or not self._budget.allows(expression.shape):
            return default
        try:
            message = expression.evaluate(value, old, present)
        except EvaluationError:
            return default
        text = message.strip() if isinstance(message, str) else ""
        usable = text and "\n" not in text and len(text.encode()) <= MAXIMUM_MESSAGE
        return text if usable else default

    def _add(self, steps: Steps, cause: Cause, *, ratchets: bool) -> None:
        self._problems.append(Problem(steps, cause, len(steps), ratchets))


def _cause(where: str, reason: str, shown: str, message: str) -> Cause:
    where = where or "<nil>"
    title = _REASONS.get(reason, "Invalid value")
    if title == "Duplicate value":
        return Cause(reason, ": ".join(part for part in (title, shown) if part), where)
    if title == "Invalid value" and shown:
        message = f"{shown}: {message}"
    return Cause(reason or "FieldValueInvalid", f"{title}: {message}", where)


def _told(error: str, rule: Rule) -> str:
    if error == "no such overload":
        words = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{error}': {words}: {rule.shown}"
    if "cost" in error:
        return (
            f"'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {rule.shown}"
        )
    return f"{error} evaluating rule: {rule.shown}"


def _translated(told: str) -> str:
    """The engine's error in the words of Kubernetes' engine."""
    told = re.sub(r"^[A-Z_]+: ", "", told).removesuffix(" [INTERNAL]").removesuffix(" [INVALID_ARGUMENT]")
    if "Iteration budget exceeded" in told:
        return "operation cancelled: actual cost limit exceeded"
    if told.startswith("No matching overloads found"):
        return "no such overload"
    if found := re.match(r'Key not found in map : "?(.*?)"?$', told, re.DOTALL):
        return f"no such key: {found.group(1)}"
    if found := re.match(r"Index error: index=(-?\d+)", told):
        return f"index out of bounds: {found.group(1)}"
    return {"divide by zero": "division by zero", "modulus by zero": "modulus by zero"}.get(told, told)


def _has_rules(schema: Any) -> bool:
    if isinstance(schema, Mapping):
        return bool(schema.get("x-kubernetes-validations")) or any(_has_rules(each) for each in schema.values())
    return isinstance(schema, list) and any(_has_rules(each) for each in schema)


def _compile_node(node: Node, *, resource: bool) -> RuleNode | None:
    rules = [_compile_rule(rule, node, resource) for rule in _written(node)]
    below: dict[str, RuleNode] = {}
    for name, child in node.properties.items():
        if made := _compile_node(child, resource=child.embedded):
            below[name] = made
    additional = _compile_node(node.additional, resource=node.additional.embedded) if node.additional else None
    items = _compile_node(node.items, resource=node.items.embedded) if node.items else None
    if not (rules or below or additional or items):
        return None
    return RuleNode(node, rules, cel_values.converter(node, resource=resource), below, additional, items)


def _written(node: Node) -> Iterator[Mapping[str, Any]]:
    """The rules of a place: its own, and those that `allOf` adds to it."""
    yield from node.schema.get("x-kubernetes-validations") or ()
    for branch in node.branches("allOf"):
        yield from branch.schema.get("x-kubernetes-validations") or ()


def _compile_rule(rule: Mapping[str, Any], node: Node, resource: bool) -> Rule:
    optional = rule.get("optionalOldSelf") is True
    text = rule.get("messageExpression")
    return Rule(
        expression=compile_expression(rule["rule"], node, resource=resource, optional_old=optional),
        message=rule.get("message") or "",
        message_expression=(compile_expression(text, node, resource=resource, optional_old=optional) if text else None),
        reason=rule.get("reason") or "",
        field_path=field_steps(rule.get("fieldPath") or "", node),
        optional_old=optional,
    )


def field_steps(path: str, node: Node) -> Steps:
    """Read a rule's `fieldPath` (`.spec.x`, `.labels['a.b']`); ValueError if the schema has no such field."""
    steps: list[str | int] = []
    rest = path
    while rest:
        found = re.match(r"\.([^.\[\]']+)|\['((?:\\.|[^'\\])*)'\]", rest)
        if found is None:
            raise ValueError(f"expected [ or . but got: {rest}")
        name = found.group(1) if found.group(1) is not None else re.sub(r"\\(.)", r"\1", found.group(2))
        child = node.properties.get(name)
        if child is None and (node.properties or node.additional is None):
            raise ValueError("does not refer to a valid field")
        steps.append(name if child is not None else MapKey(name))
        node, rest = child or node.additional or node, rest[found.end() :]
    return tuple(steps)


def _wrapped(text: str, node: Node, uses_old: bool, optional_old: bool) -> str:
    """The expression inside bindings that give `self` and `oldSelf` their types, and `oldSelf` its optional."""
    result = f"(\n{text}\n)"
    if uses_old:
        old = cel_values.typed(node, "__oldSelf") or "__oldSelf"
        bound = f"__present ? optional.of({old}) : optional.none()" if optional_old else old
        result = f"cel.bind(oldSelf, {bound}, {result})"
    conversion = cel_values.typed(node, "__self")
    return f"cel.bind(self, {conversion}, {result})" if conversion else result


def _compiled(environment: Any, text: str) -> Any:
    try:
        return environment.compile(text)
    except Exception as error:  # the binding raises RuntimeError
        told = re.sub(r"^[A-Z_]+: ", "", str(error))
        raise CompileError(re.sub(r" \[[A-Z_]+\]$", "", told)) from error


def _check_fields(text: str, node: Node, resource: bool) -> None:
    """Refuse `self.x` where the schema has no field x: the engine would not notice before the rule runs."""
    bare = without_literals(text)
    for found in _PATH.finditer(bare):
        place: Node | None = node
        above = resource
        for segment in re.finditer(r"\w+", found.group(2)):
            place = _field(place, segment.group(0), above, found.start(2) + segment.start(), text)
            above = place is not None and place.embedded
            if place is None:
                break


def _field(place: Node | None, name: str, resource: bool, column: int, text: str) -> Node | None:
    """The schema of a field; None if anything goes from here on."""
    if place is None or (resource and name in ("apiVersion", "kind", "metadata")):
        return None
    if place.type in ("string", "integer", "number", "boolean", "array"):
        raise CompileError(_diagnosis(f"type '{place.type}' does not support field selection", column, text))
    if place.additional is not None:
        return place.additional
    for known, child in place.properties.items():
        if cel_values.escaped(known) == name:
            return child
    if place.preserves or not place.properties:
        return None
    raise CompileError(_diagnosis(f"undefined field '{name}'", column, text))


def _diagnosis(problem: str, column: int, text: str) -> str:
    if "\n" in text or without_literals(text) != text:
        return f"ERROR: <input>: {problem}\n | {text}"
    return f"ERROR: <input>:1:{column}: {problem}\n | {text}\n | {'.' * (column - 1)}^"


@cache
def _environment() -> Any:
    try:
        from cel_expr_python import cel
    except ImportError as error:
        raise errors.MissingExtra("a schema with CEL rules (x-kubernetes-validations)", "cel") from error
    from pilotage.schema.cel_functions import environment

    return environment(cel, _VARIABLES)
