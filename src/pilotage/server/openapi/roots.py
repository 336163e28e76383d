"""The OpenAPI of paths without a version: `/version`, `/api`, `/apis` and the groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.rest.negotiation import JSON, PROTOBUF, YAML
from pilotage.server.openapi.paths import META, content, group_words, gvk_document
from pilotage.server.openapi.schemas import type_fields
from pilotage.types.builtin import REFERENCE

_TEXT: Document = {"type": "string", "default": ""}
_INFO = "io.k8s.apimachinery.pkg.version.Info"
_REQUIRED_INFO = (
    "major",
    "minor",
    "gitVersion",
    "gitCommit",
    "gitTreeState",
    "buildDate",
    "goVersion",
    "compiler",
    "platform",
)
_OPTIONAL_INFO = ("emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor")


def operations(groups: Iterable[str]) -> dict[str, Document]:
    """What each of these paths answers, by the path without a slash before it."""
    every = (JSON, YAML, PROTOBUF)
    found = {
        "version": _operation("version", "getCodeVersion", _INFO, [JSON]),
        "api": _operation("core", "getCoreAPIVersions", f"{META}.APIVersions", every),
        "apis": _operation("apis", "getAPIVersions", f"{META}.APIGroupList", every),
    }
    for group in sorted({*groups} - {""}):
        tag, words = group_words(group, lower=True), group_words(group)
        found[f"apis/{group}"] = _operation(tag, f"get{words}APIGroup", f"{META}.APIGroup", every)
    return found


def own_schemas() -> dict[str, Document]:
    """The schemas that no kind refers to."""
    texts = dict.fromkeys(_REQUIRED_INFO, _TEXT) | {name: {"type": "string"} for name in _OPTIONAL_INFO}
    versions = {"versions": _list(_TEXT), "serverAddressByClientCIDRs": _list(_one("ServerAddressByClientCIDR"))}
    return {
        _INFO: {"type": "object", "required": list(_REQUIRED_INFO), "properties": texts},
        f"{META}.APIVersions": _kind("APIVersions", versions),
        f"{META}.APIGroupList": _kind("APIGroupList", {"groups": _list(_one("APIGroup"))}),
    }


def _operation(tag: str, name: str, schema: str, media: Sequence[str]) -> Document:
    answers = {"200": {"description": "OK", "content": content(media, schema)}, "401": {"description": "Unauthorized"}}
    return {"get": {"tags": [tag], "operationId": name, "responses": answers}}


def _kind(name: str, properties: Document) -> Document:
    return {
        "type": "object",
        "required": list(properties),
        "properties": type_fields() | properties,
        "x-kubernetes-group-version-kind": [gvk_document(GroupVersionKind("", "v1", name))],
    }


def _one(name: str) -> Document:
    return {"default": {}, "allOf": [{"$ref": f"{REFERENCE}{META}.{name}"}]}


def _list(items: Any) -> Document:
    return {"type": "array", "items": items, "x-kubernetes-list-type": "atomic"}
