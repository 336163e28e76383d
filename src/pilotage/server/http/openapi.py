"""OpenAPI v3, as little of it as kubectl needs to create and validate: for each kind one path that can be patched."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersion
from pilotage.meta.mapper import RESTMapping


def index(mappings: Iterable[RESTMapping]) -> Document:
    """`/openapi/v3`: where the document of each group and version is, with a hash of what it says."""
    known = list(mappings)
    paths = {}
    for group_version in sorted({mapping.resource.group_version for mapping in known}):
        path = _path(group_version)
        content = msgspec.json.encode(document(known, group_version))
        digest = hashlib.sha256(content).hexdigest()[:32].upper()
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}


def document(mappings: Sequence[RESTMapping], group_version: GroupVersion) -> Document | None:
    """`/openapi/v3/apis/{group}/{version}`; None where nothing is served there."""
    found = [mapping for mapping in mappings if mapping.resource.group_version == group_version]
    if not found:
        return None
    return {
        "openapi": "3.0.0",
        "info": {"title": "Pilotage", "version": "v1"},
        "paths": {_object_path(mapping): {"patch": _patch(mapping)} for mapping in found},
    }


def _patch(mapping: RESTMapping) -> Document:
    group, version, kind = mapping.gvk
    return {
        "parameters": [
            {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}},
            {"name": "fieldManager", "in": "query", "schema": {"type": "string"}},
            {"name": "dryRun", "in": "query", "schema": {"type": "string"}},
        ],
        "requestBody": {"content": {"application/merge-patch+json": {}, "application/json-patch+json": {}}},
        "responses": {},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": kind},
    }


def _object_path(mapping: RESTMapping) -> str:
    scope = "namespaces/{namespace}/" if mapping.namespaced else ""
    return f"/{_path(mapping.resource.group_version)}/{scope}{mapping.resource.resource}/{{name}}"


def _path(group_version: GroupVersion) -> str:
    group, version = group_version
    return f"apis/{group}/{version}" if group else f"api/{version}"
