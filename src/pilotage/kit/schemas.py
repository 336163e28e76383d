"""The schema of a kind: of its CustomResourceDefinition, or of the built-in kinds of Kubernetes."""

from __future__ import annotations

from functools import cache

from pilotage.errors import ApiError
from pilotage.kit.session import CommandSession, decode
from pilotage.meta.documents import Document
from pilotage.meta.kinds import CUSTOM_RESOURCE_DEFINITIONS, GroupVersionKind
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest.request import APIRequest, Verb
from pilotage.schema.subschemas import with_children
from pilotage.server.openapi.descriptions import described
from pilotage.types import builtin

NAMED = "x-pilotage-type"
"""The name of a built-in type in a schema: `PodSpec`."""
TYPE_TEXT = "x-pilotage-description"
"""The description of a built-in type, beside the description of a field of this type."""
_CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


async def schema_of(session: CommandSession, mapping: RESTMapping) -> Document | None:
    """The schema of the whole object; None where there is none, or where it may not be read."""
    key = str(mapping.gvk)
    if key not in session.schemas:
        session.schemas[key] = await _custom(session, mapping) or _builtin_kind(mapping.gvk)
    found: Document | None = session.schemas[key]
    return found


async def selectable_fields(session: CommandSession, mapping: RESTMapping) -> list[str]:
    """The fields that objects of a kind can be selected by, besides name and namespace."""
    version = await _version(session, mapping)
    if version is not None:
        return [str(field["jsonPath"]).lstrip(".") for field in version.get("selectableFields") or ()]
    from pilotage.kubernetes.kinds import KINDS
    from pilotage.server.catalogue.catalogue import strategy_for

    return list(strategy_for(mapping, KINDS).rules.selectable_fields)


async def _custom(session: CommandSession, mapping: RESTMapping) -> Document | None:
    version = await _version(session, mapping)
    if version is None:
        return None
    schema: Document = (version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"}
    common = _builtin_kind(_CONFIG_MAP) or {}
    head = {name: common.get("properties", {}).get(name, {}) for name in ("apiVersion", "kind", "metadata")}
    own = {name: value for name, value in (schema.get("properties") or {}).items() if name not in head}
    return schema | {"properties": {**head, **own}}


async def _version(session: CommandSession, mapping: RESTMapping) -> Document | None:
    """The version of a definition that a custom resource is served in; None for a built-in one, or where the
    definition may not be read."""
    if "." not in mapping.resource.group:
        return None
    name = f"{mapping.resource.resource}.{mapping.resource.group}"
    try:
        answer = await session.transport.call(APIRequest(Verb.GET, CUSTOM_RESOURCE_DEFINITIONS, name=name))
    except ApiError:
        return None
    versions: list[Document] = decode(answer.body)["spec"]["versions"]
    return next((version for version in versions if version["name"] == mapping.resource.version), None)


@cache
def _builtin_kind(gvk: GroupVersionKind) -> Document | None:
    """The schema of a kind of Kubernetes, from the description that Pilotage has of its API. It is not changed."""
    name = builtin.definition_name(gvk)
    return None if name is None else _resolved(described(name), ())


def _resolved(schema: Document, inside: tuple[str, ...]) -> Document:
    """The schema with its references replaced; one that contains itself is left open."""
    reference = schema.get("$ref") or next((one["$ref"] for one in schema.get("allOf") or () if "$ref" in one), "")
    rest = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
    rest = with_children(rest, lambda child: _resolved(child, inside))
    if not reference:
        return rest
    name = reference.rpartition("/")[2]
    if name in inside:
        return {"type": "object"} | rest
    found = _resolved(described(name), (*inside, name))
    named = {NAMED: name.rpartition(".")[2], TYPE_TEXT: found.get("description", "")}
    return named | found | {key: value for key, value in rest.items() if key != "default"}
