"""CEL rules (`x-kubernetes-validations`): compiled once for a schema, run on documents that the schema accepts.

The engine receives values without types: that a field exists is checked when a rule is compiled, its type when it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

from pilotage.errors import Cause
from pilotage.meta import causes
from pilotage.schema.cel import values as cel_values
from pilotage.schema.cel.costs.budget import Budget, Size
from pilotage.schema.cel.expression import (
    NO_BOOL,
    OUT_OF_BUDGET,
    EvaluationError,
    Expression,
    compile_expression,
)
from pilotage.schema.cel.patterns import COST_EXCEEDED
from pilotage.schema.structural.fieldpaths import field_steps
from pilotage.schema.structural.node import Node
from pilotage.schema.structural.paths import MapKey, Problem, Steps, dotted
from pilotage.schema.structural.ratchet import Comparison
from pilotage.schema.structural.values import NO_FIELD

MAXIMUM_MESSAGE = 5 * 1024
"""The most bytes of a message that a `messageExpression` returns. Kubernetes ignores longer ones."""

_NO_OVERLOAD = "no such overload"
_NO_INTEGER = f": {cel_values.WholeFloat.__name__}."
_REASONS = {
    "FieldValueForbidden": "Forbidden",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
}


class _BudgetSpentError(Exception):
    """The cost budget is spent: no further rule runs."""


@dataclass(frozen=True, slots=True)
class CompiledRule:
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


@dataclass(slots=True)
class RuleNode:
    """A node of the schema that has rules, or nodes with rules below it."""

    node: Node
    rules: list[CompiledRule]
    convert: cel_values.Convert | None
    properties: dict[str, RuleNode] = field(default_factory=dict)
    additional: RuleNode | None = None
    items: RuleNode | None = None


class Rules:
    """All the rules of a schema."""

    def __init__(self, root: RuleNode) -> None:
        self._root = root

    def validate(
        self, document: Any, old: Any = None, *, ratchet: bool = True, tolerated: list[Cause] | None = None
    ) -> list[Cause]:
        """The causes of all rules that fail. With `old`, failures in unchanged parts are tolerated if `ratchet`.

        What is `tolerated` is added to that list.
        """
        evaluation = _Evaluation(self._root.node, document, old, ratchet=ratchet)
        with suppress(_BudgetSpentError):
            evaluation.visit(self._root, document, old, ())
        return evaluation.causes([] if tolerated is None else tolerated)


def compile_rules(root: Node) -> Rules | None:
    """Compile the rules of a schema; None if it has no rules."""
    compiled = _compile_node(root, resource=root.root)
    return Rules(compiled) if compiled is not None else None


class _Operands(NamedTuple):
    """`self` and `oldSelf` as the engine receives them."""

    value: Any
    old: Any
    size: Size


class _Evaluation:
    """Runs the rules on one document."""

    def __init__(self, root: Node, document: Any, old: Any, *, ratchet: bool) -> None:
        self._ratchet = ratchet
        self._budget = Budget(document, old)
        self._comparison = Comparison(root, document, old) if old is not None else None
        self._problems: list[Problem] = []

    def causes(self, tolerated: list[Cause]) -> list[Cause]:
        comparison = self._comparison if self._ratchet else None
        found: list[Cause] = []
        for each in self._problems:
            stays = comparison is not None and each.ratchets and comparison.unchanged(each.steps)
            (tolerated if stays else found).append(each.cause)
        return found

    def visit(self, at: RuleNode, value: Any, old: Any, steps: Steps) -> None:
        if value is None:
            return
        if at.rules:
            self._run_rules(at, value, old, steps)
        if isinstance(value, dict | list) and not self._budget.spend(len(value)):
            self._stop(at, steps)
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

    def _run_rules(self, at: RuleNode, value: Any, old: Any, steps: Steps) -> None:
        kind = at.node.type
        size = self._budget.size(value, old)
        if (at.convert is not None or old is not None) and not self._budget.spend(size[1], convert=True):
            self._stop(at, steps)
        if old is not None:
            old = cel_values.aligned(at.node, old, value)
        shown = value
        if wrong := cel_values.mismatch(at.node, value) or cel_values.mismatch(at.node, old):
            self._add_mismatch(at, old, steps, wrong)
            return
        if at.convert is not None:
            value = at.convert(value)
            old = at.convert(old) if old is not None else None
        operands = _Operands(value, old, size)
        for rule in at.rules:
            if rule.expression.uses_old and old is None and not rule.optional_old:
                continue
            failed = self._failure(rule, operands, at.node, steps)
            if failed is None:
                continue
            where = dotted((*steps, *rule.field_path), keys_in_brackets=True)
            value_shown = causes.shown(shown) if kind not in ("object", "array") else ""
            self._add(steps, _cause(where, rule.reason, value_shown, failed), ratchets=not rule.expression.uses_old)

    def _add_mismatch(self, at: RuleNode, old: Any, steps: Steps, wrong: str) -> None:
        """No rule can be evaluated: a value that was written in another version is not of the type of this one."""
        where = dotted(steps, keys_in_brackets=True) or NO_FIELD
        for rule in at.rules:
            if old is None and rule.expression.uses_old and not rule.optional_old:
                continue
            text = f"unsupported conversion to ref.Val: (*errors.errorString){wrong}" if rule.optional_old else wrong
            self._add(steps, causes.invalid(where, at.node.type, _error_message(text, rule)), ratchets=False)

    def _failure(self, rule: CompiledRule, operands: _Operands, node: Node, steps: Steps) -> str | None:
        """The message if the rule returns false. An error in the rule is added as a cause of its own."""
        try:
            result = self._result(rule.expression, operands)
            if result is True:
                return None
        except EvaluationError as error:
            where = dotted(steps, keys_in_brackets=True) or NO_FIELD
            text = str(error)
            if text == _NO_OVERLOAD or text.endswith(_NO_INTEGER):  # as for a value that is not of its type
                value, old, _ = operands
                text = cel_values.mismatch_within(node, value) or cel_values.mismatch_within(node, old) or text
            self._add(steps, causes.invalid(where, node.type, _error_message(text, rule)), ratchets=False)
            if str(error) == COST_EXCEEDED:
                raise _BudgetSpentError from error
            return None
        if result is not False:
            where = dotted(steps, keys_in_brackets=True) or NO_FIELD
            wrong = f"not a bool evaluating rule: {rule.shown}"
            if not rule.expression.may_be_bool:  # of a definition that is refused: it is evaluated for its defaults
                wrong = f"rule compile error: {NO_BOOL}"
            self._add(steps, causes.invalid(where, node.type, wrong), ratchets=False)
            return None
        return self._message(rule, operands)

    def _message(self, rule: CompiledRule, operands: _Operands) -> str:
        default = rule.message.strip() or f"failed rule: {rule.expression.text.strip()}"
        if rule.message_expression is None:
            return default
        try:
            message = self._result(rule.message_expression, operands)
        except EvaluationError:
            return default
        text = message.strip() if isinstance(message, str) else ""
        usable = text and "\n" not in text and len(text.encode()) <= MAXIMUM_MESSAGE
        return text if usable else default

    def _result(self, expression: Expression, operands: _Operands) -> Any:
        value, old, size = operands
        if not self._budget.spend_evaluation(expression, size, value, old):
            raise EvaluationError(COST_EXCEEDED)
        return expression.evaluate(value, old, old is not None, self._budget.meter)

    def _stop(self, at: RuleNode, steps: Steps) -> NoReturn:
        where = dotted(steps, keys_in_brackets=True) or NO_FIELD
        self._add(steps, causes.invalid(where, at.node.type, OUT_OF_BUDGET), ratchets=False)
        raise _BudgetSpentError

    def _add(self, steps: Steps, cause: Cause, *, ratchets: bool) -> None:
        self._problems.append(Problem(steps, cause, len(steps), ratchets))


def _cause(where: str, reason: str, shown: str, message: str) -> Cause:
    where = where or NO_FIELD
    title = _REASONS.get(reason, "Invalid value")
    if title == "Duplicate value":
        return Cause(reason, ": ".join(part for part in (title, shown) if part), where)
    if title == "Invalid value" and shown:
        message = f"{shown}: {message}"
    return Cause(reason or "FieldValueInvalid", f"{title}: {message}", where)


def _error_message(error: str, rule: CompiledRule) -> str:
    if error == _NO_OVERLOAD:
        words = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{error}': {words}: {rule.shown}"
    if error == COST_EXCEEDED:
        words = "no further validation rules will be run due to call cost exceeds limit for rule"
        return f"'{error}': {words}: {rule.shown}"
    return f"{error} evaluating rule: {rule.shown}"


def _compile_node(node: Node, *, resource: bool) -> RuleNode | None:
    rules = [_compile_rule(rule, node, resource) for rule in _declared(node)]
    below: dict[str, RuleNode] = {}
    for name, child in node.properties.items():
        if made := _compile_node(child, resource=child.embedded):
            below[name] = made
    additional = _compile_node(node.additional, resource=node.additional.embedded) if node.additional else None
    items = _compile_node(node.items, resource=node.items.embedded) if node.items else None
    if not (rules or below or additional or items):
        return None
    return RuleNode(node, rules, cel_values.converter(node, resource=resource), below, additional, items)


def _declared(node: Node) -> Iterator[Mapping[str, Any]]:
    """The rules of a node: its own, and those in its `allOf`."""
    yield from node.schema.get("x-kubernetes-validations") or ()
    for branch in node.branches("allOf"):
        yield from branch.schema.get("x-kubernetes-validations") or ()


def _compile_rule(rule: Mapping[str, Any], node: Node, resource: bool) -> CompiledRule:
    optional = rule.get("optionalOldSelf") is True
    text = rule.get("messageExpression")
    return CompiledRule(
        expression=compile_expression(rule["rule"], node, resource=resource, optional_old=optional),
        message=rule.get("message") or "",
        message_expression=(compile_expression(text, node, resource=resource, optional_old=optional) if text else None),
        reason=rule.get("reason") or "",
        field_path=field_steps(rule.get("fieldPath") or "", node),
        optional_old=optional,
    )
