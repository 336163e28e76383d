"""ValidatingAdmissionPolicies: expressions that decide on writes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import duplicate, invalid, not_supported, required
from pilotage.meta.documents import Document
from pilotage.meta.names import dns_1035_label, dns_1123_subdomain, qualified_name
from pilotage.server.strategies.admissionregistration.expressions import Scope, validate_match_conditions
from pilotage.server.strategies.admissionregistration.rules import default_selection, validate_match_resources
from pilotage.server.strategies.admissionregistration.webhooks import FAILURE_POLICIES
from pilotage.server.strategies.checks.conditions import validate_conditions
from pilotage.server.strategies.checks.texts import validate_text
from pilotage.server.strategies.strategy import Strategy

_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_MAX_ANNOTATIONS = 20
_MAX_VALUE_EXPRESSION = 5 * 1024
_is_identifier = re.compile("[_a-zA-Z][_a-zA-Z0-9]*").fullmatch
_RESERVED = frozenset(
    [
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    ]
)
_NOTHING = "validations or auditAnnotations must contain at least one item"


class ValidatingAdmissionPolicyStrategy(Strategy):
    """Policies are in effect once they are bound."""

    schema_rules = False
    qualified_finalizers = False
    status_metadata = "reset"

    def default(self, document: Document) -> None:
        spec = document.setdefault("spec", {})
        spec.setdefault("failurePolicy", "Fail")
        if spec.get("matchConstraints") is not None:
            default_selection(spec["matchConstraints"])

    def validate(self, document: Document) -> list[Cause]:
        return list(_validate_spec(document["spec"], document["metadata"].get("name") or ""))

    def validate_update(self, document: Document, old: Document) -> list[Cause]:
        changed = any(document["spec"].get(key) != old["spec"].get(key) for key in ("paramKind", "matchConditions"))
        name = document["metadata"].get("name") or ""
        return list(_validate_spec(document["spec"], name, conditions_changed=changed))

    def validate_status_update(self, document: Document, old: Document) -> list[Cause]:
        return list(_validate_status(document.get("status") or {}))


def _validate_spec(spec: Document, name: str, *, conditions_changed: bool = True) -> Iterator[Cause]:
    policy, params = spec.get("failurePolicy"), spec.get("paramKind")
    if policy is None:
        yield required("spec.failurePolicy")
    elif policy not in FAILURE_POLICIES:
        yield not_supported("spec.failurePolicy", policy, FAILURE_POLICIES)
    if params is not None:
        yield from _validate_params(params, "spec.paramKind")
    constraints = spec.get("matchConstraints")
    if constraints is None:
        yield required("spec.matchConstraints")
    else:
        yield from validate_match_resources(constraints, "spec.matchConstraints")
        if not constraints.get("resourceRules"):
            yield required("spec.matchConstraints.resourceRules")
    if conditions_changed:
        conditions, scope = spec.get("matchConditions") or (), Scope(params=params is not None)
        yield from validate_match_conditions(conditions, "spec.matchConditions", scope)
    yield from _validate_expressions(spec, name, Scope(params=params is not None))


def _validate_params(kind: Document, path: str) -> Iterator[Cause]:
    version = kind.get("apiVersion") or ""
    if not version:
        yield required(f"{path}.apiVersion")
    elif version.count("/") > 1:
        yield invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    else:
        group, _, own = version.rpartition("/")
        if group and (problems := dns_1123_subdomain(group)):
            yield invalid(f"{path}.apiVersion", group, ",".join(problems))
        if not own:
            yield invalid(f"{path}.apiVersion", version, "version must be specified")
        elif problems := dns_1035_label(own):
            yield invalid(f"{path}.apiVersion", own, ",".join(problems))
    name = kind.get("kind") or ""
    if not name:
        yield required(f"{path}.kind")
    elif problems := dns_1035_label(name.lower()):
        message = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        yield invalid(f"{path}.kind", name, message)


def _validate_expressions(spec: Document, name: str, scope: Scope) -> Iterator[Cause]:
    for index, variable in enumerate(spec.get("variables") or ()):
        yield from _validate_variable(variable, f"spec.variables[{index}]", scope)
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        yield required("spec.validations", _NOTHING)
        yield required("spec.auditAnnotations", _NOTHING)
        return
    for index, validation in enumerate(validations):
        yield from _validate_validation(validation, f"spec.validations[{index}]", scope)
    if len(annotations) > _MAX_ANNOTATIONS:
        message = f"must not have more than {_MAX_ANNOTATIONS} auditAnnotations"
        yield invalid("spec.auditAnnotations", annotations, message)
    seen: set[str] = set()
    for index, annotation in enumerate(annotations):
        path, key = f"spec.auditAnnotations[{index}]", annotation.get("key") or ""
        yield from _validate_annotation(annotation, key, name, path, scope)
        if key in seen:
            yield duplicate(f"{path}.key", key)
        seen.add(key)


def _validate_variable(variable: Document, path: str, scope: Scope) -> Iterator[Cause]:
    name, expression = variable.get("name") or "", variable.get("expression") or ""
    if not name.strip():
        yield required(f"{path}.name", "name is not specified")
    elif not _is_identifier(name) or name in _RESERVED:
        yield invalid(f"{path}.name", name, "must be a valid CEL identifier")
    if not expression.strip():
        yield required(f"{path}.expression", "expression is not specified")
        return
    checked = scope.check(expression)
    if checked.problem:
        yield invalid(f"{path}.expression", expression, checked.problem)
    scope.declare(name, checked)


def _validate_validation(validation: Document, path: str, scope: Scope) -> Iterator[Cause]:
    expression, message = validation.get("expression") or "", validation.get("message") or ""
    if not expression.strip():
        yield required(f"{path}.expression", "expression is not specified")
    elif problem := scope.problem(expression, ("bool",)):
        yield invalid(f"{path}.expression", expression, problem)
    if words := validation.get("messageExpression"):
        if not words.strip():
            yield invalid(f"{path}.messageExpression", words, "must be non-empty if specified")
        elif problem := scope.problem(words, ("string",), authorizer=False):
            yield invalid(f"{path}.messageExpression", words, problem)
    if message and not message.strip():
        yield invalid(f"{path}.message", message, "must be non-empty if specified")
    elif any(character in message.strip() for character in "\n\r"):
        yield invalid(f"{path}.message", message, "must not contain line breaks")
    if (reason := validation.get("reason")) is not None and reason not in _REASONS:
        yield not_supported(f"{path}.reason", reason, _REASONS)


def _validate_annotation(annotation: Document, key: str, name: str, path: str, scope: Scope) -> Iterator[Cause]:
    if name:
        yield from validate_text(f"{name}/{key}", f"{path}.key", qualified_name)
    else:
        yield invalid(f"{path}.key", key, "requires metadata.name be non-empty")
    expression = (annotation.get("valueExpression") or "").strip()
    if not expression:
        yield required(f"{path}.valueExpression", "valueExpression is not specified")
    elif len(expression.encode(errors="replace")) > _MAX_VALUE_EXPRESSION:
        yield required(f"{path}.valueExpression", f"must not exceed {_MAX_VALUE_EXPRESSION} bytes in length")
    elif problem := scope.problem(expression, ("string", "null")):
        yield invalid(f"{path}.valueExpression", annotation["valueExpression"], problem)


def _validate_status(status: Document) -> Iterator[Cause]:
    warnings = (status.get("typeChecking") or {}).get("expressionWarnings") or ()
    for index, warning in enumerate(warnings):
        path = f"status.typeChecking.expressionWarnings[{index}]"
        if not warning.get("warning"):
            yield required(f"{path}.warning")
        if not (warning.get("fieldRef") or "").strip():
            yield required(f"{path}.fieldRef")
    yield from validate_conditions(status.get("conditions") or (), "status.conditions")
