"""Checks the types and sizes of a CustomResourceDefinition before anything else: the other modules rely on them."""

from __future__ import annotations

from functools import cache
from typing import Any

from pilotage.errors import Cause
from pilotage.meta import causes
from pilotage.meta.paths import items
from pilotage.schema.patterns import compile_cost
from pilotage.schema.structural import StructuralSchema

MAXIMUM_DEPTH = 60
"""The most levels of a schema (properties in properties …)."""
MAXIMUM_NODES = 50_000
"""The most schemas within one definition."""
MAXIMUM_RULES = 1_000
MAXIMUM_VERSIONS = 100
"""Clients request each version of a group during discovery."""
MAXIMUM_PATTERN_COST = 1e9
"""The most nanoseconds for compiling all patterns of a definition."""

_SCHEMA = {"$ref": "#/JSONSchemaProps"}
_SCHEMA_OR_OTHER = {"$ref": "#/JSONSchemaPropsOrOther"}
_SCHEMAS = {"type": "object", "additionalProperties": _SCHEMA}
_LIST = {"type": "array", "items": _SCHEMA}
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_FLAG = {"type": "boolean"}
_NUMBER = {"type": "number"}
_COUNT = {"type": "integer", "format": "int64"}
_ANYTHING: dict[str, Any] = {}


def _object(required: str = "", **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required.split()}


_RULE = _object(
    rule=_TEXT, message=_TEXT, messageExpression=_TEXT, reason=_TEXT, fieldPath=_TEXT, optionalOldSelf=_FLAG
)
_KEYWORDS: dict[str, Any] = {
    **dict.fromkeys(("id", "$schema", "$ref", "description", "type", "format", "title", "pattern"), _TEXT),
    **dict.fromkeys(("maximum", "minimum", "multipleOf"), _NUMBER),
    **dict.fromkeys(("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"), _COUNT),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "uniqueItems", "nullable"), _FLAG),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), _LIST),
    **dict.fromkeys(("properties", "patternProperties", "definitions"), _SCHEMAS),
    "required": _TEXTS,
    "enum": {"type": "array", "items": _ANYTHING},
    "not": _SCHEMA,
    # A schema, a list of schemas or a bool. Which of them is allowed is checked by `keywords`.
    **dict.fromkeys(("items", "additionalProperties", "additionalItems"), _SCHEMA_OR_OTHER),
    **dict.fromkeys(("default", "example"), _ANYTHING),
    "dependencies": {"type": "object", "additionalProperties": _ANYTHING},
    "externalDocs": {"type": "object"},
    "x-kubernetes-preserve-unknown-fields": _FLAG,
    "x-kubernetes-embedded-resource": _FLAG,
    "x-kubernetes-int-or-string": _FLAG,
    "x-kubernetes-list-map-keys": _TEXTS,
    "x-kubernetes-list-type": _TEXT,
    "x-kubernetes-map-type": _TEXT,
    "x-kubernetes-validations": {"type": "array", "items": _RULE},
}
_NAMES = _object(plural=_TEXT, singular=_TEXT, kind=_TEXT, listKind=_TEXT, shortNames=_TEXTS, categories=_TEXTS)
_COLUMN = _object(name=_TEXT, type=_TEXT, format=_TEXT, description=_TEXT, priority=_COUNT, jsonPath=_TEXT)
_SCALE = _object(specReplicasPath=_TEXT, statusReplicasPath=_TEXT, labelSelectorPath=_TEXT)
_VERSION = _object(
    name=_TEXT,
    served=_FLAG,
    storage=_FLAG,
    deprecated=_FLAG,
    deprecationWarning=_TEXT,
    schema=_object(openAPIV3Schema=_SCHEMA),
    subresources=_object(status={"type": "object"}, scale=_SCALE),
    additionalPrinterColumns={"type": "array", "items": _COLUMN},
    selectableFields={"type": "array", "items": _object(jsonPath=_TEXT)},
)
_SERVICE = _object(name=_TEXT, namespace=_TEXT, path=_TEXT, port=_COUNT)
_WEBHOOK = _object(clientConfig=_object(url=_TEXT, service=_SERVICE, caBundle=_TEXT), conversionReviewVersions=_TEXTS)
_DEFINITION = _object(
    metadata=_object(name=_TEXT, annotations={"type": "object", "additionalProperties": _TEXT}),
    spec=_object(
        group=_TEXT,
        names=_NAMES,
        scope=_TEXT,
        versions={"type": "array", "items": _VERSION},
        conversion=_object(strategy=_TEXT, webhook=_WEBHOOK),
        preserveUnknownFields=_FLAG,
    ),
    status=_object(
        storedVersions=_TEXTS,
        conditions={"type": "array", "items": _object(type=_TEXT, status=_TEXT)},
    ),
)


def shape_causes(definition: Any) -> list[Cause]:
    """What has a wrong type in a definition, or is too large. If there is something, nothing else can be checked."""
    if not isinstance(definition, dict):
        return [causes.type_invalid("<nil>", "null", "a CustomResourceDefinition must be an object")]
    return _size_causes(definition) or _shape().validate(definition)


@cache
def _shape() -> StructuralSchema:
    other: dict[str, Any] = {"properties": _KEYWORDS, "items": _SCHEMA}
    plain: dict[str, Any] = {"type": "object", "properties": _KEYWORDS}
    schemas = {"JSONSchemaProps": plain, "JSONSchemaPropsOrOther": other}
    return StructuralSchema.compile(_DEFINITION, resolve=schemas.__getitem__)


def _size_causes(definition: dict[str, Any]) -> list[Cause]:
    """Iterative, because it protects all other checks, which are recursive, from deep documents."""
    nodes = rules = 0
    patterns: set[str] = set()
    stack: list[tuple[Any, int]] = [(definition, 0)]
    while stack:
        value, depth = stack.pop()
        nodes += 1
        # Each level of a schema is two levels of the document: `properties`, and the name.
        if depth > 2 * MAXIMUM_DEPTH or nodes > 10 * MAXIMUM_NODES:
            what = f"{MAXIMUM_DEPTH} levels" if depth > 2 * MAXIMUM_DEPTH else f"{MAXIMUM_NODES} schemas"
            return [causes.forbidden("spec.versions", f"a schema may have at most {what}")]
        if isinstance(value, dict):
            written = value.get("x-kubernetes-validations")
            rules += len(written) if isinstance(written, list) else 0
            if isinstance(pattern := value.get("pattern"), str):
                patterns.add(pattern)
            stack.extend((each, depth + 1) for each in value.values())
        elif isinstance(value, list):
            stack.extend((each, depth + 1) for each in value)
    if rules > MAXIMUM_RULES:
        return [causes.forbidden("spec.versions", f"{rules} validation rules: may have at most {MAXIMUM_RULES}")]
    if sum(map(compile_cost, patterns)) > MAXIMUM_PATTERN_COST:
        text = f"compiling the {len(patterns)} patterns takes too long: use fewer or shorter ones"
        return [causes.forbidden("spec.versions", text)]
    versions = items(definition, "spec", "versions")
    return [causes.too_many("spec.versions", len(versions), MAXIMUM_VERSIONS)] * (len(versions) > MAXIMUM_VERSIONS)
