"""Validates the defaults in a schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

import msgspec

from pilotage.errors import Cause
from pilotage.meta import causes
from pilotage.schema.definition.keywords import SchemaPosition
from pilotage.schema.structural import StructuralSchema
from pilotage.schema.structural.embedded import resource_causes
from pilotage.schema.structural.node import Node, Tree
from pilotage.schema.structural.validate import NON_VALIDATING, SCALARS
from pilotage.schema.structural.values import TYPE_NAMES
from pilotage.schema.subschemas import Schema, has_rules, with_children

_RULES = "x-kubernetes-validations"
_IGNORED = NON_VALIDATING - {_RULES}
_FIELD_PATH = "fieldPath"
_EMBEDDED = "x-kubernetes-embedded-resource"


def default_causes(schema: Schema, place: SchemaPosition, *, well_formed: bool = True) -> Iterator[Cause]:
    """A default must be valid, and must not have fields that pruning would drop. `well_formed`: the rules are."""
    default = schema.get("default")
    if default is None or place.branch or ".additionalProperties" in place.at:  # as in Kubernetes, not checked there
        return
    at = f"{place.at}.default"
    if place.in_metadata and (problem := _metadata_problem(default, place)):
        yield causes.invalid(at, default, f"must result in valid metadata: {problem}", whole=True)
        return
    compiled, broken = _compiled_rules(schema if well_formed else _with_rules(schema, _FIELD_PATH), place)
    if not place.in_metadata and compiled.has_unknown_fields(default):
        yield causes.invalid(at, default, "must not have unknown fields", whole=True)
    found = compiled.validate_default(default)
    if broken and not found:
        node = Tree(None).node(_with_rules(schema, "messageExpression"), root=place.root)
        yield from _broken_rules(node, default, at, resource=place.resource)
        found = _compiled(_sound(node, resource=place.resource), place).validate_default(default)
    for cause in found:
        yield _moved(cause, at)


def _compiled_rules(schema: Schema, place: SchemaPosition) -> tuple[StructuralSchema, bool]:
    """The compiled schema, and whether a rule does not compile: then it is without its rules."""
    if not has_rules(schema):
        return _compiled(schema, place), False
    from pilotage.schema.cel.expression import CompileError

    for candidate in (schema, _with_rules(schema, "messageExpression")):
        with suppress(CompileError):
            return _compiled(candidate, place), False
    return _compiled(_with_rules(schema, None), place), True


def _broken_rules(node: Node, value: Any, at: str, *, resource: bool = False) -> Iterator[Cause]:
    """The rules that do not compile, at each part of the default that they are for."""
    for rule in node.schema.get(_RULES) or ():
        if problem := _problem(rule, node, resource=resource):
            yield causes.invalid(at, node.type or TYPE_NAMES[type(value)], f"rule compile error: {problem}")
    if isinstance(value, dict):
        for name, each in value.items():
            child = node.properties.get(name)
            if child is not None:
                yield from _broken_rules(child, each, f"{at}.{name}", resource=child.embedded)
            elif node.additional is not None:
                yield from _broken_rules(node.additional, each, f"{at}[{name}]", resource=node.additional.embedded)
    elif isinstance(value, list) and node.items is not None:
        for index, each in enumerate(value):
            yield from _broken_rules(node.items, each, f"{at}[{index}]", resource=node.items.embedded)


def _sound(node: Node, *, resource: bool = False) -> Schema:
    """The schema of a node without the rules that do not compile, on all levels."""
    result = dict(node.schema)
    rules = node.schema.get(_RULES) or ()
    result[_RULES] = [rule for rule in rules if not _problem(rule, node, resource=resource)]
    if node.properties:
        properties = node.properties.items()
        result["properties"] = {name: _sound(child, resource=child.embedded) for name, child in properties}
    for key, below in (("items", node.items), ("additionalProperties", node.additional)):
        if below is not None:
            result[key] = _sound(below, resource=below.embedded)
    return result


def _problem(rule: Mapping[str, Any], node: Node, *, resource: bool) -> str:
    """Why a rule does not compile."""
    from pilotage.schema.cel.expression import CompileError, compile_expression

    try:
        compile_expression(rule["rule"], node, resource=resource, optional_old=rule.get("optionalOldSelf") is True)
    except CompileError as error:
        return error.failure
    return ""


def _with_rules(schema: Schema, dropped: str | None) -> Schema:
    """A copy whose rules, on all levels, do not have a key; without empty rules, and without all for None."""
    result = with_children(schema, lambda child: _with_rules(child, dropped))
    result.pop(_RULES, None)
    if dropped is not None and schema.get(_RULES):
        rules = [rule for rule in schema[_RULES] if str(rule.get("rule") or "").strip()]
        result[_RULES] = [{key: rule[key] for key in rule if key != dropped} for rule in rules]
    return result


def _compiled(schema: Schema, place: SchemaPosition) -> StructuralSchema:
    if schema.get("type") in SCALARS:  # the usual case: fields with the same keywords share one compiled schema
        return _compiled_scalar(msgspec.json.encode({key: schema[key] for key in schema if key not in _IGNORED}))
    if place.root:
        schema = {**schema, _EMBEDDED: True}  # the default of a whole object has apiVersion and kind, too
    return StructuralSchema.compile(schema, embedded=place.resource)


@lru_cache(maxsize=256)
def _compiled_scalar(schema: bytes) -> StructuralSchema:
    return StructuralSchema.compile(msgspec.json.decode(schema), embedded=False)


def _metadata_problem(default: Any, place: SchemaPosition) -> str:
    """What would be wrong with an embedded resource that has the default, and nothing else."""
    value = default
    for step in reversed(place.metadata_path):
        value = [value] if isinstance(step, int) else {step: value}
    found = resource_causes({"apiVersion": "validation/v1", "kind": "Validation", **value}, "")
    texts = [f"{cause.field}: {cause.message}" for cause in found]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""


def _moved(cause: Cause, at: str) -> Cause:
    """A cause for a default, with the path of the default in the definition."""
    if cause.field in ("", "<nil>"):
        return Cause(cause.reason, cause.message, at)
    return Cause(cause.reason, cause.message, f"{at}{'' if cause.field[0] in '[.' else '.'}{cause.field}")
