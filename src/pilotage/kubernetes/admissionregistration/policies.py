"""ValidatingAdmissionPolicies and MutatingAdmissionPolicies."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from pilotage.errors import Cause, InvalidDefinition
from pilotage.kubernetes.admissionregistration import matching
from pilotage.kubernetes.admissionregistration.conditions import (
    expression_cause,
    validate_expression,
    validate_match_conditions,
)
from pilotage.kubernetes.checks.conditions import validate_conditions
from pilotage.meta import jsonpath
from pilotage.meta.causes import invalid, required, too_many
from pilotage.meta.documents import Document, same
from pilotage.meta.validation.names import dns_1035_label, dns_1123_subdomain, qualified_name
from pilotage.schema.cel.admission.expressions import AdmissionCompiler
from pilotage.schema.cel.source import is_identifier
from pilotage.server.strategies.checks import fields, items, texts
from pilotage.server.strategies.strategy import Strategy

_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_MAX_ANNOTATIONS = 20
_MAX_VALUE_EXPRESSION = 5 * 1024
_EMPTY = "must be non-empty if specified"
_NO_EXPRESSION = "expression is not specified"
_PATCH_FIELDS = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
_PATCH_RESULTS = {"ApplyConfiguration": "Object", "JSONPatch": "list(JSONPatch)"}
_MAX_VARIABLES = 1_000
"""A limit of ours: the type of each variable is compiled into the environment of the next."""
_NOTHING = "validations or auditAnnotations must contain at least one item"


class ValidatingAdmissionPolicyStrategy(Strategy):
    """Policies that refuse requests by CEL expressions."""

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        return matching.name_warnings(document)

    def validate(self, document: Document) -> Iterator[Cause]:
        return self._validate(document, conditions=True)

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        # Conditions that were accepted once stay as they are, unless what they can use changes.
        keys = ("paramKind", "matchConditions")
        unchanged = all(same(document["spec"].get(key), old["spec"].get(key)) for key in keys)
        return self._validate(document, conditions=not unchanged)

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        status = document.get("status") or {}
        warnings = (status.get("typeChecking") or {}).get("expressionWarnings") or []
        for index, warning in enumerate(warnings):
            path = f"status.typeChecking.expressionWarnings[{index}]"
            yield from fields.needed(warning, path, "warning")
            reference = (warning.get("fieldRef") or "").strip()
            if not reference:
                yield required(f"{path}.fieldRef")
                continue
            try:
                jsonpath.parse(reference if reference[0] in ".[$@" else f".{reference}")
            except InvalidDefinition as error:
                yield invalid(f"{path}.fieldRef", reference, f"invalid JSONPath: {error}")
        yield from validate_conditions(status.get("conditions") or (), "status.conditions")

    def _validate(self, document: Document, *, conditions: bool) -> Iterator[Cause]:
        spec = document["spec"]
        yield from _validate_matching(spec, conditions=conditions)
        variables = spec.get("variables") or []
        compiler = AdmissionCompiler(params=_has_params(spec), composed=bool(variables))
        yield from _validate_variables(variables, compiler)
        validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
        if not validations and not annotations:
            yield required("spec.validations", _NOTHING)
            yield required("spec.auditAnnotations", _NOTHING)
        yield from validate_validations(validations, compiler)
        yield from validate_annotations(annotations, document["metadata"].get("name") or "", compiler)


class MutatingAdmissionPolicyStrategy(ValidatingAdmissionPolicyStrategy):
    """Policies that change what requests write, by CEL expressions."""

    def _validate(self, document: Document, *, conditions: bool) -> Iterator[Cause]:
        spec = document["spec"]
        yield from _validate_matching(spec, conditions=conditions)
        yield from matching.validate_mutating_operations(spec.get("matchConstraints") or {}, "spec.matchConstraints")
        compiler = AdmissionCompiler(params=_has_params(spec), composed=True)
        yield from _validate_variables(spec.get("variables") or [], compiler)
        yield from validate_mutations(spec.get("mutations") or [], compiler)
        policy = spec.get("reinvocationPolicy") or ""
        yield from fields.required_choice(policy, "spec.reinvocationPolicy", matching.REINVOCATION_POLICIES)


def _has_params(spec: Document) -> bool:
    return spec.get("paramKind") is not None


def _validate_matching(spec: Document, *, conditions: bool) -> Iterator[Cause]:
    yield from fields.optional_choice(spec.get("failurePolicy"), "spec.failurePolicy", matching.FAILURE_POLICIES)
    yield from fields.given(spec.get("paramKind"), "spec.paramKind", _validate_param_kind)
    constraints = spec.get("matchConstraints")
    if constraints is None:
        yield required("spec.matchConstraints")
    else:
        yield from matching.validate_match_resources(constraints, "spec.matchConstraints")
        yield from fields.needed(constraints, "spec.matchConstraints", "resourceRules")
    if conditions:
        found = spec.get("matchConditions") or []
        yield from validate_match_conditions(found, "spec.matchConditions", params=_has_params(spec))


def _validate_param_kind(value: Document, path: str) -> Iterator[Cause]:
    version, kind = value.get("apiVersion") or "", value.get("kind") or ""
    yield from fields.present(version, f"{path}.apiVersion", _validate_api_version)
    if not kind:
        yield required(f"{path}.kind")
    elif problems := dns_1035_label(kind.lower()):
        words = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        yield invalid(f"{path}.kind", kind, words)


def _validate_api_version(text: str, path: str) -> Iterator[Cause]:
    if text.count("/") > 1:
        yield invalid(path, text, f"unexpected GroupVersion string: {text}")
        return
    group, _, version = text.rpartition("/")
    if group and (problems := dns_1123_subdomain(group)):
        yield invalid(path, group, ",".join(problems))
    if not version:
        yield invalid(path, text, "version must be specified")
    elif problems := dns_1035_label(version):
        yield invalid(path, version, ",".join(problems))


def _validate_variables(variables: list[Document], compiler: AdmissionCompiler) -> Iterator[Cause]:
    if len(variables) > _MAX_VARIABLES:
        yield too_many("spec.variables", len(variables), _MAX_VARIABLES)
        return
    for index, variable in enumerate(variables):
        path, name = f"spec.variables[{index}]", variable.get("name") or ""
        if not name.strip():
            yield required(f"{path}.name", "name is not specified")
        elif not is_identifier(name):
            yield invalid(f"{path}.name", name, "must be a valid CEL identifier")
        expression, add = variable.get("expression") or "", partial(compiler.add_variable, name)
        yield from validate_expression(expression, f"{path}.expression", _NO_EXPRESSION, add)


def validate_mutations(mutations: list[Document], compiler: AdmissionCompiler) -> Iterator[Cause]:
    if not mutations:
        yield required("spec.mutations", "mutations must contain at least one item")
    yield from items.each(mutations, "spec.mutations", _validate_mutation, compiler)


def _validate_mutation(mutation: Document, path: str, compiler: AdmissionCompiler) -> Iterator[Cause]:
    form = mutation.get("patchType") or ""
    yield from fields.required_choice(form, f"{path}.patchType", tuple(_PATCH_FIELDS))
    if form not in _PATCH_FIELDS:
        return
    field = _PATCH_FIELDS[form]
    value = mutation.get(field)
    if value is None:
        yield required(f"{path}.{field}", f"must be specified when patchType is {form}")
    else:
        expression, at = (value.get("expression") or "").strip(), f"{path}.{field}.expression"
        yield from validate_expression(expression, at, "", compiler.patch_problem, _PATCH_RESULTS[form])
    (other,) = (name for name in _PATCH_FIELDS.values() if name != field)
    if mutation.get(other) is not None:
        yield invalid(f"{path}.{other}", f"{{{other}}}", f"must not be specified when patchType is {form}")


def validate_validations(validations: list[Document], compiler: AdmissionCompiler) -> Iterator[Cause]:
    yield from items.each(validations, "spec.validations", _validate_validation, compiler)


def _validate_validation(validation: Document, path: str, compiler: AdmissionCompiler) -> Iterator[Cause]:
    expression = validation.get("expression") or ""
    yield from validate_expression(expression, f"{path}.expression", _NO_EXPRESSION, compiler.problem, "bool")
    shown = validation.get("messageExpression") or ""
    if shown and not shown.strip():
        yield invalid(f"{path}.messageExpression", shown, _EMPTY)
    elif shown and (problem := compiler.problem(shown, "string", authorizer=False)):
        yield expression_cause(f"{path}.messageExpression", shown, problem)
    message = validation.get("message") or ""
    if message and not message.strip():
        yield invalid(f"{path}.message", message, _EMPTY)
    elif any(end in message.strip() for end in "\r\n"):
        yield invalid(f"{path}.message", message, "must not contain line breaks")
    reason = validation.get("reason")
    yield from fields.optional_choice(reason, f"{path}.reason", _REASONS)


def validate_annotations(annotations: list[Document], name: str, compiler: AdmissionCompiler) -> Iterator[Cause]:
    """What is wrong with the audit annotations of a policy of this name: their keys have it as a prefix."""
    if len(annotations) > _MAX_ANNOTATIONS:
        words = f"must not have more than {_MAX_ANNOTATIONS} auditAnnotations"
        yield invalid("spec.auditAnnotations", annotations, words)
    seen: set[str] = set()
    for index, annotation in enumerate(annotations):
        path, key = f"spec.auditAnnotations[{index}]", annotation.get("key") or ""
        if name:
            full = f"{name}/{key}"
            yield from texts.text(full, f"{path}.key", qualified_name)
        else:
            yield invalid(f"{path}.key", key, "requires metadata.name be non-empty")
        yield from _validate_value(annotation.get("valueExpression") or "", f"{path}.valueExpression", compiler)
        yield from items.unique(key, f"{path}.key", seen)


def _validate_value(expression: str, path: str, compiler: AdmissionCompiler) -> Iterator[Cause]:
    text = expression.strip()
    if not text:
        yield required(path, "valueExpression is not specified")
    elif len(text.encode(errors="replace")) > _MAX_VALUE_EXPRESSION:
        yield required(path, f"must not exceed {_MAX_VALUE_EXPRESSION} bytes in length")
    elif problem := compiler.problem(text, "string", "null_type"):
        yield expression_cause(path, expression, problem)
