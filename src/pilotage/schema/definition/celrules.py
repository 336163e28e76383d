"""Validates the CEL rules in a schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pilotage.errors import Cause
from pilotage.meta import causes
from pilotage.schema.cel.costs import LIMIT
from pilotage.schema.cel.expression import NO_BOOL, CompileError, compile_expression
from pilotage.schema.definition.keywords import SchemaPosition
from pilotage.schema.definition.rulecosts import RuleCosts
from pilotage.schema.structural.fieldpaths import field_steps
from pilotage.schema.structural.node import Tree
from pilotage.schema.subschemas import Schema

_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_RULES = "x-kubernetes-validations"
_UNTYPED = (
    f"failed to construct type information for {_RULES} rules: unable to convert structural schema to CEL declarations"
)


def rule_form_causes(schema: Schema, place: SchemaPosition) -> Iterator[Cause]:
    """What is wrong with rules before they are compiled."""
    for index, rule in enumerate(schema.get(_RULES) or ()):
        yield from _form_causes(rule, f"{place.at}.{_RULES}[{index}]", schema)


def rule_compile_causes(schema: Schema, place: SchemaPosition, costs: RuleCosts) -> Iterator[Cause]:
    """What does not compile or costs too much, and transition rules on values that cannot be matched with old ones."""
    if place.branch:
        return
    node = Tree(None).node(schema, root=place.root)
    if schema.get(_RULES) and not node.type and not node.int_or_string:
        yield Cause("InternalError", f"Internal error: internal error: {_UNTYPED}", f"{place.at}.{_RULES}")
        return
    for index, rule in enumerate(schema.get(_RULES) or ()):
        at = f"{place.at}.{_RULES}[{index}]"
        optional = rule.get("optionalOldSelf")
        uses_old = False
        if costs.programs.exceeded:
            yield causes.forbidden(
                f"{at}.rule", "the compiled rules of the definition are too large: simplify them, or use fewer"
            )
            return
        try:
            compiled = compile_expression(rule["rule"], node, resource=place.resource, optional_old=optional is True)
        except CompileError as error:
            yield _rule_cause(f"{at}.rule", rule, error.failure)
        else:
            costs.programs.spend(compiled)
            uses_old = compiled.uses_old
            times = compiled.runs if place.repetitions is None else place.repetitions
            yield from costs.spend(f"{at}.rule", min(compiled.cost_estimate * times, LIMIT))
            if not compiled.may_be_bool:
                yield _rule_cause(f"{at}.rule", rule, NO_BOOL)
        yield from _message_causes(rule, at, node, place, costs)
        if uses_old and place.uncorrelated:
            text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelated}"
            yield causes.invalid(f"{at}.rule", rule["rule"], text)
        elif not uses_old and optional is not None:
            yield causes.invalid(f"{at}.optionalOldSelf", optional, "may not be set if oldSelf is not used in rule")


def _form_causes(rule: Schema, at: str, schema: Schema) -> Iterator[Cause]:
    text, message = str(rule.get("rule") or "").strip(), str(rule.get("message") or "").strip()
    if not text:
        yield causes.required(f"{at}.rule", "rule is not specified")
    elif rule.get("message") and not message:
        yield causes.invalid(f"{at}.message", rule["message"], "must be non-empty if specified")
    elif _has_breaks(message):
        yield causes.invalid(f"{at}.message", rule["message"], "must not contain line breaks")
    elif _has_breaks(text) and not message:
        yield causes.required(f"{at}.message", "message must be specified if rule contains line breaks")
    if rule.get("messageExpression") and not rule["messageExpression"].strip():
        yield causes.required(f"{at}.messageExpression", "messageExpression must be non-empty if specified")
    if rule.get("reason") is not None and rule["reason"] not in _REASONS:
        yield causes.not_supported(f"{at}.reason", rule["reason"], _REASONS)
    if path := rule.get("fieldPath"):
        yield from _field_path_causes(path, f"{at}.fieldPath", schema)


def _field_path_causes(path: str, at: str, schema: Schema) -> Iterator[Cause]:
    if not path.strip():
        yield causes.invalid(at, path, "must be non-empty if specified")
    if _has_breaks(path):
        yield causes.invalid(at, path, "must not contain line breaks")
    try:
        field_steps(path, Tree(None).node(schema))
    except ValueError:
        yield causes.invalid(at, path, "must be a valid path")


def _message_causes(rule: Schema, at: str, node: Any, place: SchemaPosition, costs: RuleCosts) -> Iterator[Cause]:
    text = rule.get("messageExpression")
    if not text:
        return
    problem = ""
    try:
        compiled = compile_expression(
            text, node, resource=place.resource, optional_old=rule.get("optionalOldSelf") is True
        )
        costs.programs.spend(compiled)
        if compiled.returns not in ("string", "dyn"):
            problem = "messageExpression must evaluate to a string"
        else:
            yield from costs.spend(f"{at}.messageExpression", compiled.cost_estimate, "messageExpression")
    except CompileError as error:
        problem = f"messageExpression {error.failure.removeprefix('program ')}"
    if problem:
        yield _rule_cause(f"{at}.messageExpression", rule, problem)


def _rule_cause(at: str, rule: Schema, detail: str) -> Cause:
    """Kubernetes shows the whole rule, with the names and in the order of the fields of its Go struct."""
    whole = {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    return Cause("FieldValueInvalid", f"Invalid value: {causes.json_shown(whole)}: {detail}", at)


def _has_breaks(text: str) -> bool:
    return "\n" in text or "\r" in text
