"""Applies a mutation of a MutatingAdmissionPolicy to an object: an apply configuration, or a JSON patch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pilotage.errors import PatchError
from pilotage.meta.documents import Document, copied
from pilotage.meta.fields import content, typecheck
from pilotage.meta.fields.schema import FieldType
from pilotage.meta.patches import json_patch
from pilotage.schema.cel.admission.constructions import TYPE, plain
from pilotage.schema.cel.admission.evaluation import patch_expression_of
from pilotage.server.matching.mutation import go_message
from pilotage.server.ownership.kinds import type_of
from pilotage.server.policies.evaluation import Evaluation
from pilotage.server.resources import ResourceInfo


class MutationError(Exception):
    """A mutation that failed. The failure policy decides what happens."""


async def mutated(mutation: Document, document: Document, info: ResourceInfo, evaluation: Evaluation) -> Document:
    """The document after one mutation of a policy. Raises MutationError and EvaluationError."""
    if mutation["patchType"] == "JSONPatch":
        text = mutation["jsonPatch"]["expression"].strip()
        operations = await evaluation.evaluate(text, patch_expression_of)
        return _patched(document, [_checked(each) for each in operations])
    text = mutation["applyConfiguration"]["expression"].strip()
    return _merged(document, _checked(await evaluation.evaluate(text, patch_expression_of)), info)


def _checked(constructed: Document) -> Document:
    """The object that an expression has constructed, without its types. Raises MutationError if a type does not
    match."""
    if TYPE not in constructed and "value" in constructed:  # an operation of a patch
        return {**constructed, "value": _checked_value(constructed["value"])}
    document: Document = _checked_value(constructed)
    return document


def _checked_value(value: Any) -> Any:
    found, problems = plain(value)
    if problems:
        raise MutationError("type mismatch: " + "\n".join(problems))
    return found


def _patched(document: Document, operations: list[Document]) -> Document:
    try:
        patched: Document = json_patch.apply(copied(document), [dict(each) for each in operations])
    except PatchError as error:
        if error.operation is not None and operations[error.operation].get("op") == "test":
            return document  # the patch is for another state
        raise MutationError(f"JSON Patch: {go_message(error, operations)}") from error
    return patched


def _merged(document: Document, configuration: Document, info: ResourceInfo) -> Document:
    field_type = type_of(info)
    configuration = {**configuration, "apiVersion": info.gvk.api_version, "kind": info.gvk.kind}
    if problem := typecheck.problem(field_type, configuration):
        raise MutationError(f"error applying patch: failed to convert patch object to typed object: {problem}")
    atomics = list(_atomics(field_type, configuration, ""))
    if atomics:
        raise MutationError(
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
            + ", ".join(atomics)
        )
    merged: Document = content.merged(field_type, document, configuration)
    return merged


def _atomics(field_type: FieldType, value: Any, path: str) -> Iterator[str]:
    """The atomic lists and maps in a configuration: an apply would remove the values there that it does not name."""
    if isinstance(value, dict) and field_type.is_map:
        if field_type.atomic:
            yield path
        for name, item in value.items():
            if name in field_type.fields:
                yield from _atomics(field_type.fields[name], item, f"{path}.{name}")
    elif isinstance(value, list) and field_type.list_rule is not None:
        if field_type.list_rule.atomic:
            yield path
        for index, item in enumerate(value):
            yield from _atomics(field_type.items, item, f"{path}[{index}]")
