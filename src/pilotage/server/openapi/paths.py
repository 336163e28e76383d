"""The paths of OpenAPI: the operations of each resource, their parameters and responses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersion, GroupVersionKind
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest.request import PatchType
from pilotage.server.strategies.scaling import SCALE
from pilotage.types import builtin
from pilotage.types.builtin import REFERENCE, Subresource

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_JSON = ("application/json", "application/yaml")
_BUILTIN_MEDIA = (*_JSON, "application/vnd.kubernetes.protobuf")
_ANY = ("*/*",)
_STREAMS = ("application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
_CUSTOM_PATCHES = (PatchType.APPLY.value, PatchType.JSON.value, PatchType.MERGE.value)
_PATCHES = (*_CUSTOM_PATCHES, PatchType.STRATEGIC.value)
_STRING, _INTEGER, _BOOLEAN = ("string", "integer", "boolean")
_WRITE = {"dryRun": _STRING, "fieldManager": _STRING, "fieldValidation": _STRING}
_DELETE = {
    "dryRun": _STRING,
    "gracePeriodSeconds": _INTEGER,
    "ignoreStoreReadErrorWithClusterBreakingPotential": _BOOLEAN,
    "orphanDependents": _BOOLEAN,
    "propagationPolicy": _STRING,
}
_LIST = {
    "continue": _STRING,
    "fieldSelector": _STRING,
    "labelSelector": _STRING,
    "limit": _INTEGER,
    "resourceVersion": _STRING,
    "resourceVersionMatch": _STRING,
    "sendInitialEvents": _BOOLEAN,
    "timeoutSeconds": _INTEGER,
}
_WATCH = {"allowWatchBookmarks": _BOOLEAN, **_LIST, "watch": _BOOLEAN}


@dataclass(frozen=True, slots=True)
class ResourcePaths:
    """The paths of one resource."""

    mapping: RESTMapping
    schema: str
    """The name of the schema of its kind."""
    custom: bool = False
    list_schema: str = ""
    """The name of the schema of a list, where it is not the name of the kind with `List` behind it."""

    def paths(self) -> Iterator[tuple[str, Document]]:
        """Each path with its operations."""
        mapping = self.mapping
        root = f"/{root_path(mapping.resource.group_version)}"
        plural = mapping.resource.resource
        if mapping.namespaced:
            if "list" in mapping.verbs:
                everywhere = {"parameters": _query(_WATCH | {"pretty": _STRING})}
                yield f"{root}/{plural}", everywhere | {"get": self._list("ForAllNamespaces")}
            root += "/namespaces/{namespace}"
        if collection := self._collection():
            yield f"{root}/{plural}", self._parameters() | collection
        if item := self._item():
            yield f"{root}/{plural}/{{name}}", self._parameters(name=True) | item
        for subresource in self._subresources():
            operations = self._subresource(subresource)
            yield f"{root}/{plural}/{{name}}/{subresource.name}", self._parameters(name=True) | operations

    def _parameters(self, *, name: bool = False) -> Document:
        found = []
        if name:
            found.append(_path_parameter("name"))
        if self.mapping.namespaced:
            found.append(_path_parameter("namespace"))
        return {"parameters": [*found, *_query({"pretty": _STRING})]}

    def _collection(self) -> Document:
        operations: Document = {}
        verbs = self.mapping.verbs
        if "list" in verbs:
            operations["get"] = self._list() | {"parameters": _query(_WATCH)}
        if "create" in verbs:
            operations["post"] = self._write("create", "post", _WRITE, 200, 201, 202)
        if "deletecollection" in verbs:
            operation = self._operation("delete", "deletecollection", f"{META}.Status", infix="Collection")
            operations["delete"] = operation | {"parameters": _query(_DELETE | _LIST)}
            if not self.custom:
                operations["delete"]["requestBody"] = {"content": content(_ANY, f"{META}.DeleteOptions")}
        return operations

    def _list(self, suffix: str = "") -> Document:
        return self._operation("list", "list", self.list_schema or f"{self.schema}List", suffix=suffix, watched=True)

    def _item(self) -> Document:
        operations: Document = {}
        verbs = self.mapping.verbs
        if "get" in verbs:
            operations["get"] = self._operation("read", "get", self.schema)
            if self.custom:
                operations["get"]["parameters"] = _query({"resourceVersion": _STRING})
        if "update" in verbs:
            operations["put"] = self._write("replace", "put", _WRITE, 200, 201)
        if "delete" in verbs:
            operation = self._operation("delete", "delete", f"{META}.Status", 200, 202)
            body = {"content": content(self._bodies, f"{META}.DeleteOptions")}
            operations["delete"] = operation | {"parameters": _query(_DELETE), "requestBody": body}
        if "patch" in verbs:
            operations["patch"] = self._patch(self.schema)
        return operations

    def _write(self, action: str, verb: str, parameters: dict[str, str], *codes: int) -> Document:
        operation = self._operation(action, verb, self.schema, *codes)
        body = {"content": content(self._bodies, self.schema), "required": True}
        return operation | {"parameters": _query(parameters), "requestBody": body}

    def _patch(self, schema: str, suffix: str = "") -> Document:
        patches = _CUSTOM_PATCHES if self.custom else _PATCHES
        body = {"content": content(sorted(patches), f"{META}.Patch"), "required": True}
        codes = (200,) if self.custom else (200, 201)
        operation = self._operation("patch", "patch", schema, *codes, suffix=suffix)
        return operation | {"parameters": _query(_WRITE | {"force": _BOOLEAN}), "requestBody": body}

    def _subresources(self) -> Sequence[Subresource]:
        if not self.custom:
            return builtin.subresources(self.mapping.resource)
        verbs = ("get", "patch", "update")
        kinds = {"status": self.mapping.gvk, "scale": SCALE}
        return [Subresource(name, kinds[name], verbs) for name in sorted(self.mapping.subresources)]

    def _subresource(self, subresource: Subresource) -> Document:
        name = subresource.name.title()
        own = subresource.gvk == self.mapping.gvk
        schema = self.schema if own else builtin.definition_name(subresource.gvk) or self.schema
        gvk = self.mapping.gvk if self.custom else subresource.gvk
        body = {"content": content(self._bodies, schema), "required": True}
        write = {"parameters": _query(_WRITE), "requestBody": body}
        operations: Document = {}
        for verb in subresource.verbs:
            match verb:
                case "get":
                    operations["get"] = self._operation("read", "get", schema, suffix=name)
                case "create":
                    operations["post"] = self._operation("create", "post", schema, 200, 201, 202, suffix=name) | write
                case "update":
                    operations["put"] = self._operation("replace", "put", schema, 200, 201, suffix=name) | write
                case "patch":
                    operations["patch"] = self._patch(schema, suffix=name)
        for operation in operations.values():
            operation["x-kubernetes-group-version-kind"] = gvk_document(gvk)
        return operations

    @property
    def _media(self) -> Sequence[str]:
        return _JSON if self.custom else _BUILTIN_MEDIA

    @property
    def _bodies(self) -> Sequence[str]:
        return _JSON if self.custom else _ANY

    def _operation(
        self, action: str, verb: str, schema: str, *codes: int, infix: str = "", suffix: str = "", watched: bool = False
    ) -> Document:
        gvk = self.mapping.gvk
        media = (*self._media, *_STREAMS) if watched and not self.custom else self._media
        scope = "Namespaced" if self.mapping.namespaced and suffix != "ForAllNamespaces" else ""
        return {
            "tags": [f"{group_words(gvk.group, lower=True)}_{gvk.version}"],
            "operationId": f"{action}{group_words(gvk.group)}{gvk.version.title()}{infix}{scope}{gvk.kind}{suffix}",
            "responses": {
                **{
                    str(code): {"description": _CODES[code], "content": content(media, schema)}
                    for code in codes or (200,)
                },
                "401": {"description": "Unauthorized"},
            },
            "x-kubernetes-action": verb,
            "x-kubernetes-group-version-kind": gvk_document(gvk),
        }


_CODES = {200: "OK", 201: "Created", 202: "Accepted"}


def root_path(group_version: GroupVersion) -> str:
    """The path of a group and version, without a slash before it."""
    group, version = group_version
    return f"apis/{group}/{version}" if group else f"api/{version}"


def group_words(group: str, *, lower: bool = False) -> str:
    """A group as a part of an operation's id: `apps` is `Apps`, `a.example.com` is `AExampleCom`."""
    short = (group or "core").removesuffix(".k8s.io")
    words = "".join(part[:1].upper() + part[1:] for part in short.replace("-", ".").split("."))
    return words[:1].lower() + words[1:] if lower else words


def gvk_document(gvk: GroupVersionKind) -> dict[str, str]:
    """A kind as OpenAPI has it."""
    return dict(zip(("group", "version", "kind"), gvk, strict=True))


def _query(parameters: dict[str, str]) -> list[Document]:
    return [
        {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}
        for name, kind in sorted(parameters.items())
    ]


def _path_parameter(name: str) -> Document:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "uniqueItems": True}}


def content(media: Sequence[str], schema: str) -> Document:
    return {each: {"schema": {"$ref": f"{REFERENCE}{schema}"}} for each in media}
