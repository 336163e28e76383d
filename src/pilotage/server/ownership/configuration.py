"""The body of an apply: a configuration in YAML or JSON, checked to be of the kind that the path names."""

from __future__ import annotations

from typing import Any

from pilotage.errors import BadRequest, DecodeError, InternalError, Status
from pilotage.meta.causes import invalid_error, required
from pilotage.meta.documents import Document, make_whole, may_have_floats
from pilotage.meta.fields import typecheck
from pilotage.meta.kinds import GroupKind, GroupVersionKind
from pilotage.meta.text import jsontext, yamltext
from pilotage.rest.request import APIRequest
from pilotage.server.decoding.bodies import yaml_error
from pilotage.server.decoding.parts import check_parts
from pilotage.server.ownership import kinds
from pilotage.server.resources import ResourceInfo


def check_manager(request: APIRequest) -> None:
    """Raise BadRequest unless an apply names its manager."""
    if not request.write.field_manager:
        cause = required("fieldManager", "is required for apply patch")
        raise invalid_error(GroupKind("meta.k8s.io", "PatchOptions"), "", [cause])


def read(body: bytes) -> tuple[Document, list[str]]:
    """The configuration of a body, and its duplicate keys. Raises BadRequest."""
    try:
        document, duplicates = _decoded(body)
    except DecodeError as error:
        raise BadRequest(f"error decoding YAML: error converting YAML to JSON: {yaml_error(str(error))}") from None
    check_parts(document, len(body))
    if document is None:
        return {}, duplicates
    if not isinstance(document, dict):
        raise BadRequest(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{jsontext.json_type(document)} into Go value of type map[string]interface {{}}"
        )
    return document, duplicates


def _decoded(body: bytes) -> tuple[Any, list[str]]:
    if body[:1] == b"{":  # most are JSON, which is decoded faster, unless a key is duplicated
        try:
            document = jsontext.read(body)
        except DecodeError:
            return yamltext.read_lenient(body)
        if isinstance(document, dict) and may_have_floats(body):
            make_whole(document)  # as if it were YAML
        if not jsontext.duplicate_fields(body):
            return document, []
    return yamltext.read_lenient(body)


def check_kind(info: ResourceInfo, configuration: Document) -> None:
    """Raise BadRequest for a configuration of another kind, or with managed fields."""
    gvk = _gvk(configuration)
    if gvk != info.gvk:
        raise BadRequest(f"invalid object type: {_shown(gvk)}")
    metadata = configuration.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise BadRequest("metadata.managedFields must be nil")


def check_types(info: ResourceInfo, configuration: Document) -> None:
    """Raise a 500, as Kubernetes does, for a configuration of wrong types."""
    if problem := typecheck.problem(kinds.type_of(info), configuration):
        raise InternalError(
            status=Status(500, "", f"failed to create typed patch object ({subject(configuration)}): {problem}")
        )


def unconvertible(configuration: Document, reason: str) -> InternalError:
    """The 500, as Kubernetes answers, for content that has the types of the kind but cannot be decoded."""
    where = f"failed to convert new object ({subject(configuration)}) to proper version"
    kind = _shown(_gvk(configuration))
    if reason.startswith("illegal base64"):
        reason = f"error decoding from json: {reason}"
    return InternalError(status=Status(500, "", f"{where}: unable to convert unstructured object to {kind}: {reason}"))


def report_duplicates(request: APIRequest, duplicates: list[str]) -> list[str]:
    """The warnings about duplicate keys. Raises BadRequest if the request has strict field validation."""
    if not duplicates or request.write.field_validation == "Ignore":
        return []
    if request.write.field_validation == "Strict":
        lines = "".join(f"\n  {line}" for line in duplicates)
        raise BadRequest(f"error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:{lines}")
    return duplicates


def _gvk(configuration: Document) -> GroupVersionKind:
    api_version, kind = configuration.get("apiVersion"), configuration.get("kind")
    group, _, version = (api_version if isinstance(api_version, str) else "").rpartition("/")
    return GroupVersionKind(group, version, kind if isinstance(kind, str) else "")


def subject(configuration: Document) -> str:
    """An object as shown in messages of an apply."""
    metadata = configuration.get("metadata")
    found = metadata if isinstance(metadata, dict) else {}
    names = (found.get(key) for key in ("namespace", "name"))
    subject = "/".join(name if isinstance(name, str) else "" for name in names)
    return f"{subject}; {_shown(_gvk(configuration))}"


def _shown(gvk: GroupVersionKind) -> str:
    """The kind as Go prints it, also without a group."""
    return f"{gvk.group}/{gvk.version}, Kind={gvk.kind}"
