"""What a MutatingAdmissionPolicy evaluates: apply configurations and JSON patches."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, not_supported, required
from pilotage.meta.documents import Document
from pilotage.schema.cel.admission.expressions import AdmissionCompiler
from pilotage.server.strategies.admissionregistration.conditions import expression_cause
from pilotage.server.strategies.checks.items import validate_each

_FORMS = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
_TYPES = {"ApplyConfiguration": "Object", "JSONPatch": "list(JSONPatch)"}


def validate_mutations(mutations: list[Document], compiler: AdmissionCompiler) -> Iterator[Cause]:
    if not mutations:
        yield required("spec.mutations", "mutations must contain at least one item")
    yield from validate_each(mutations, "spec.mutations", _validate_mutation, compiler)


def _validate_mutation(mutation: Document, path: str, compiler: AdmissionCompiler) -> Iterator[Cause]:
    form = mutation.get("patchType") or ""
    if not form:
        yield required(f"{path}.patchType")
        return
    if form not in _FORMS:
        yield not_supported(f"{path}.patchType", form, tuple(_FORMS))
        return
    field = _FORMS[form]
    value = mutation.get(field)
    if value is None:
        yield required(f"{path}.{field}", f"must be specified when patchType is {form}")
    else:
        yield from _validate_expression(value.get("expression") or "", f"{path}.{field}.expression", form, compiler)
    (other,) = (name for name in _FORMS.values() if name != field)
    if mutation.get(other) is not None:
        yield invalid(f"{path}.{other}", f"{{{other}}}", f"must not be specified when patchType is {form}")


def _validate_expression(text: str, path: str, form: str, compiler: AdmissionCompiler) -> Iterator[Cause]:
    expression = text.strip()
    if not expression:
        yield required(path)
    elif problem := compiler.patch_problem(expression, _TYPES[form]):
        yield expression_cause(path, expression, problem)
