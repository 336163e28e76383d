"""OpenAPI documents: version 3, one for each group and version, and version 2, one for all.

Those of built-in kinds never change while the program runs, and are written once, on use. Those of custom resources
are written again when a definition changes, so the hash of a document is a hash of what it is made of.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import msgspec

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersion
from pilotage.server.catalogue.catalogue import builtins
from pilotage.server.kinds import KindSet
from pilotage.server.openapi import descriptions, roots, schemas
from pilotage.server.openapi.paths import ResourcePaths, root_path
from pilotage.server.resources import ResourceInfo
from pilotage.types import builtin
from pilotage.types.builtin import REFERENCE

_encode = msgspec.json.Encoder().encode
_BUILTIN_INFO = {"title": "Kubernetes", "version": "1.36"}
_SECURITY = {
    "BearerToken": {
        "type": "apiKey",
        "description": "Bearer Token authentication",
        "name": "authorization",
        "in": "header",
    }
}
_CUSTOM_INFO = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}


def index(custom: Sequence[ResourceInfo], kinds: KindSet) -> Document:
    """`/openapi/v3`: where each document is, with a hash of its content."""
    hashes = {group_version: _builtin_hash(group_version) for group_version in _builtin_versions(kinds)}
    for group_version in {info.gvr.group_version for info in custom}:
        hashes.setdefault(group_version, custom_hash(_in(custom, group_version)))
    paths = {root_path(key): value for key, value in hashes.items()} | dict.fromkeys(_roots(kinds), _roots_hash(kinds))
    return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={paths[path]}"} for path in sorted(paths)}}


def document(custom: Sequence[ResourceInfo], group_version: GroupVersion, kinds: KindSet) -> tuple[bytes, str] | None:
    """The document of a group and version, with its hash; None if nothing is served there."""
    if group_version in _builtin_versions(kinds):
        return _builtin_document(group_version, kinds), _builtin_hash(group_version)
    found = _in(custom, group_version)
    return (_custom_document(found), custom_hash(found)) if found else None


def root_document(path: str, kinds: KindSet) -> tuple[bytes, str] | None:
    """The document of a path without a version, with its hash; None if there is none."""
    operations = _roots(kinds).get(path)
    if operations is None:
        return None
    written = _encode(operations).decode()
    own = {name: _encode(schema) for name, schema in roots.own_schemas().items() if f'{REFERENCE}{name}"' in written}
    return _document(_BUILTIN_INFO, {f"/{path}/": operations}, own), _roots_hash(kinds)


@cache
def _roots(kinds: KindSet) -> dict[str, Document]:
    return roots.operations({each.group for each in _builtin_versions(kinds)})


@cache
def _roots_hash(kinds: KindSet) -> str:
    return _digest(_encode([_roots(kinds), roots.own_schemas()]) + descriptions.fingerprint())


def version_2(custom: Sequence[ResourceInfo], kinds: KindSet) -> Document:
    """`/openapi/v2`: everything in one document."""
    definitions: dict[str, Any] = dict(_builtin_definitions())
    paths = dict(_builtin_v2_paths(kinds))
    for info in custom:
        for name, raw in schemas.custom_schemas(info, v2=True).items():
            definitions[name] = schemas.v2_schema(msgspec.json.decode(raw), builtin_kind=False)
        paths |= _v2_paths(_custom_paths(info))
    return {"swagger": "2.0", "info": _BUILTIN_INFO, "paths": paths, "definitions": definitions}


def version_2_json(custom: Sequence[ResourceInfo], kinds: KindSet) -> bytes:
    return _encode(version_2(custom, kinds))


def version_2_protobuf(custom: Sequence[ResourceInfo], kinds: KindSet) -> bytes:
    from pilotage.server.openapi import protobuf  # few clients request it

    return protobuf.encode(version_2(custom, kinds))


def custom_hash(infos: Iterable[ResourceInfo]) -> str:
    content = "\n".join(sorted(f"{info.definition_key} {info.definition_revision}" for info in infos))
    return _digest(content.encode())


def _in(custom: Iterable[ResourceInfo], group_version: GroupVersion) -> list[ResourceInfo]:
    return [info for info in custom if info.gvr.group_version == group_version]


@cache
def _builtin_versions(kinds: KindSet) -> tuple[GroupVersion, ...]:
    return tuple(dict.fromkeys(resource.group_version for resource in builtins(kinds)))


@cache
def _builtin_hash(group_version: GroupVersion) -> str:
    return _digest(builtin.fingerprint() + descriptions.fingerprint() + str(group_version).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha512(content).hexdigest().upper()


@cache
def _builtin_document(group_version: GroupVersion, kinds: KindSet) -> bytes:
    paths = dict(path for each in _builtin_paths(group_version, kinds) for path in each.paths())
    return _document(_BUILTIN_INFO, paths, {})


def _custom_document(infos: Sequence[ResourceInfo]) -> bytes:
    own: dict[str, bytes] = {}
    paths: dict[str, Document] = {}
    for info in infos:
        own |= schemas.custom_schemas(info)
        paths |= dict(_custom_paths(info).paths())
    return _document(_CUSTOM_INFO, paths, own)


def _document(info: Document, paths: dict[str, Document], own: dict[str, bytes]) -> bytes:
    written = _encode(paths)
    head = _encode({"openapi": "3.0.0", "info": info})[:-1]
    security = b',"securitySchemes":%b' % _encode(_SECURITY) if info is _BUILTIN_INFO else b""
    return b'%b,"paths":%b,"components":{"schemas":%b%b}}' % (head, written, schemas.closure(written, own), security)


def _builtin_paths(group_version: GroupVersion, kinds: KindSet) -> list[ResourcePaths]:
    return [
        ResourcePaths(info.mapping, schemas.component_name(info.gvk))
        for info in builtins(kinds).values()
        if info.gvr.group_version == group_version
    ]


@cache
def _builtin_definitions() -> dict[str, Any]:
    found = {name: descriptions.described(name) for name in builtin.definition_names()} | roots.own_schemas()
    return {name: schemas.v2_schema(schema, builtin_kind=True) for name, schema in found.items()}


@cache
def _builtin_v2_paths(kinds: KindSet) -> dict[str, Any]:
    of_roots = {f"/{path}/": {"get": _v2_operation(each["get"])} for path, each in _roots(kinds).items()}
    return of_roots | {
        path: operations
        for group_version in _builtin_versions(kinds)
        for each in _builtin_paths(group_version, kinds)
        for path, operations in _v2_paths(each).items()
    }


def _custom_paths(info: ResourceInfo) -> ResourcePaths:
    name, list_name = schemas.component_name(info.gvk), schemas.list_component_name(info)
    return ResourcePaths(info.mapping, name, custom=True, list_schema=list_name)


def _v2_paths(resource: ResourcePaths) -> dict[str, Any]:
    """The paths in the form of v2: bodies are parameters, and media types are lists."""
    return {
        path: {
            method: [_v2_parameter(each) for each in operation] if method == "parameters" else _v2_operation(operation)
            for method, operation in operations.items()
        }
        for path, operations in resource.paths()
    }


def _v2_operation(operation: Document) -> Document:
    result = {key: value for key, value in operation.items() if key not in ("requestBody", "responses", "parameters")}
    parameters = [_v2_parameter(each) for each in operation.get("parameters", ())]
    body = operation.get("requestBody")
    if body:
        result["consumes"] = list(body["content"])
        parameters.insert(0, {"name": "body", "in": "body", "schema": _v2_body(body)})
    if parameters:
        result["parameters"] = parameters
    result["produces"] = list(next(iter(operation["responses"].values())).get("content", ()))
    result["responses"] = {
        code: {"description": answer["description"]} | ({"schema": _v2_body(answer)} if "content" in answer else {})
        for code, answer in operation["responses"].items()
    }
    return result


def _v2_body(body: Document) -> Any:
    return schemas.v2_schema(next(iter(body["content"].values()))["schema"], builtin_kind=True)


def _v2_parameter(parameter: Document) -> Document:
    schema: Document = parameter["schema"]
    return {key: value for key, value in parameter.items() if key != "schema"} | schema
