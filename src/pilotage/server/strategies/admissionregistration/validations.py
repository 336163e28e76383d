"""What a ValidatingAdmissionPolicy evaluates: its validations and audit annotations."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import duplicate, invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import qualified_name
from pilotage.schema.cel.admission.expressions import AdmissionCompiler
from pilotage.server.strategies.admissionregistration.conditions import expression_cause
from pilotage.server.strategies.checks.fields import validate_optional_choice
from pilotage.server.strategies.checks.items import validate_each
from pilotage.server.strategies.checks.texts import validate_text

_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_MAX_ANNOTATIONS = 20
_MAX_VALUE_EXPRESSION = 5 * 1024
_EMPTY = "must be non-empty if specified"


def validate_validations(validations: list[Document], compiler: AdmissionCompiler) -> Iterator[Cause]:
    yield from validate_each(validations, "spec.validations", _validate_validation, compiler)


def _validate_validation(validation: Document, path: str, compiler: AdmissionCompiler) -> Iterator[Cause]:
    expression = validation.get("expression") or ""
    if not expression.strip():
        yield required(f"{path}.expression", "expression is not specified")
    elif problem := compiler.problem(expression, "bool"):
        yield expression_cause(f"{path}.expression", expression, problem)
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
    yield from validate_optional_choice(reason, f"{path}.reason", _REASONS)


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
            yield from validate_text(full, f"{path}.key", qualified_name)
        else:
            yield invalid(f"{path}.key", key, "requires metadata.name be non-empty")
        yield from _validate_value(annotation.get("valueExpression") or "", f"{path}.valueExpression", compiler)
        if key in seen:
            yield duplicate(f"{path}.key", key)
        seen.add(key)


def _validate_value(expression: str, path: str, compiler: AdmissionCompiler) -> Iterator[Cause]:
    text = expression.strip()
    if not text:
        yield required(path, "valueExpression is not specified")
    elif len(text.encode(errors="replace")) > _MAX_VALUE_EXPRESSION:
        yield required(path, f"must not exceed {_MAX_VALUE_EXPRESSION} bytes in length")
    elif problem := compiler.problem(text, "string", "null_type"):
        yield expression_cause(path, expression, problem)
