"""Request bodies to documents: decoded strictly, checked to be of the right kind; unknown and duplicate fields are
recorded."""

from __future__ import annotations

import re
from itertools import islice
from typing import Annotated, Any, cast

import msgspec

from pilotage.codec import verbatim
from pilotage.codec.gonames import SCHEME, TYPE_META
from pilotage.codec.scalars import Mismatch
from pilotage.errors import DecodeError, UnsupportedMediaType
from pilotage.meta.causes import invalid, invalid_error, not_supported, too_long
from pilotage.meta.documents import Document
from pilotage.meta.kinds import PRERELEASES, GroupKind, GroupVersion, GroupVersionKind, version_priority
from pilotage.meta.models import ManagedFieldsEntry, ObjectMeta, OwnerReference, shapes
from pilotage.meta.text import gojson, jsontext
from pilotage.meta.validation.objectmeta import is_minimal
from pilotage.rest.negotiation import JSON, PROTOBUF, YAML
from pilotage.rest.request import APIRequest, PatchType, Verb
from pilotage.server.decoding.embedded import normalize_embedded
from pilotage.server.decoding.fieldproblems import MAX_UNKNOWN, FieldProblems, duplicate_fields
from pilotage.server.decoding.parts import check_parts
from pilotage.server.decoding.refusals import (
    NO_KIND,
    excerpt,
    mismatch,
    other_version,
    undecodable,
    unhandled,
    unrecognized,
)
from pilotage.server.resources import ResourceInfo
from pilotage.types import builtin

ACCEPTED = f"application/json, application/yaml, {PROTOBUF}"
VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_OPTIONS = {Verb.CREATE: "CreateOptions", Verb.UPDATE: "UpdateOptions", Verb.PATCH: "PatchOptions"}
_BY_KEYS = (YAML, PatchType.STRATEGIC.value, PatchType.APPLY.value)
"""Media types of bodies that kube-apiserver decodes into maps, which it writes with their keys in order."""
_METADATA_FIELDS = frozenset(shapes(ObjectMeta))
_INTEGERS = ("generation", "deletionGracePeriodSeconds")
"""Fields of metadata that a custom resource may have as a whole float."""
_PARTS = {
    "ownerReferences": frozenset(shapes(OwnerReference)),
    "managedFields": frozenset(shapes(ManagedFieldsEntry)),
}
_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z\Z"
_YAML_ALIAS = re.compile(r"the alias \*(\S+) has no anchor before it.*", re.DOTALL)
_YAML_ERROR = re.compile(r"(?:the document is not YAML: )?(.*) \(line (\d+), column \d+\)", re.DOTALL)


class _PlainEntry(msgspec.Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    """An entry as a server writes it."""

    operation: str
    manager: str = ""
    api_version: str = ""
    time: Annotated[str, msgspec.Meta(pattern=_TIME)] = ""
    fields_type: str = ""
    fields_v1: dict[str, Any] = msgspec.field(name="fieldsV1", default_factory=dict)
    subresource: str = ""


class _PlainEntries(msgspec.Struct, gc=False):
    entries: list[_PlainEntry]


class _ManagedFieldsEntry(ManagedFieldsEntry):
    """An entry that is checked with all that is in it."""

    raw_fields: dict[str, Any] | None = msgspec.field(name="fieldsV1", default=None)  # type: ignore[assignment]


class _Owner(OwnerReference):
    """A reference in which fields may be missing: that is a cause, not a wrong type."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""


class _Metadata(ObjectMeta):
    owner_references: list[_Owner | None] = []  # type: ignore[assignment]
    managed_fields: list[_ManagedFieldsEntry] = []  # type: ignore[assignment]


def check_options(request: APIRequest) -> None:
    """Refuse options that no write knows."""
    write = request.write
    name = write.field_manager
    if not write.causes and write.field_validation in VALIDATIONS and len(name) <= 32 and name.isprintable():
        return  # as most are
    causes = [*write.causes]
    if len(name.encode()) > 128:
        causes.append(too_long("fieldManager", 128))
    for position, character in enumerate(name[:128]):
        if not character.isprintable():
            detail = f"invalid character U+{ord(character):04X} (at position {position})"
            causes.append(invalid("fieldManager", name, detail))
    if write.field_validation not in VALIDATIONS:
        causes.append(not_supported("fieldValidation", write.field_validation, VALIDATIONS))
    if causes:
        raise invalid_error(GroupKind("meta.k8s.io", _OPTIONS[request.verb]), "", causes)


def read(request: APIRequest, info: ResourceInfo) -> tuple[Document, FieldProblems]:
    """The document of a create or an update. It is of the kind that `info` serves, and has metadata."""
    problems = FieldProblems()
    try:
        document = _decode(request, info, problems)
    except (DecodeError, UnicodeDecodeError) as error:
        raise unrecognized(info, f"couldn't get version/kind; json parse error: {error}", request.body) from None
    if document is None and not info.custom:
        document = {}  # Go's decoder leaves the object as it is
    if not isinstance(document, dict):
        if document is None:
            raise unrecognized(info, "Object 'Kind' is missing in 'null'", request.body)
        reason = f"json: cannot unmarshal {jsontext.json_type(document)} into Go value of type {TYPE_META}"
        raise unrecognized(info, f"couldn't get version/kind; json parse error: {reason}", request.body)
    check_kind(document, info, request)
    return internal(document, info, request, problems), problems


def internal(
    document: Document, info: ResourceInfo, request: APIRequest, problems: FieldProblems, *, stored: bool = False
) -> Document:
    """Convert the document to the internal form, with metadata, and record unknown fields of built-in kinds. `stored`:
    the metadata is the metadata of the stored object, and needs no change.
    """
    codec, entries = info.codec, _take_entries(document, stored=stored)
    if codec is None:
        if not stored:
            normalize_metadata(document, info, request, problems)
        if entries is not None:
            document["metadata"]["managedFields"] = entries
    unknown: list[None] = []
    try:
        if codec is None:
            normalize_embedded(document, info)
            return document
        _keep_sent_texts(document, info, request)
        found = codec.decode(document, unknown)
    except Mismatch as mismatch:
        raise undecodable(info, request, str(mismatch)) from None
    if unknown:
        problems.unknown = list(islice(codec.unknown_fields(document), MAX_UNKNOWN))
    if entries is not None:
        document["metadata"]["managedFields"] = found["metadata"]["managedFields"] = entries
    return found


def _keep_sent_texts(document: Document, info: ResourceInfo, request: APIRequest) -> None:
    """Set the text of free-form values of immutable fields, in place: the text that was sent, or as Go writes it."""
    paths = verbatim.paths_of(info.api_version, info.gvk.kind)
    if not paths:
        return
    media = request.content_type or JSON
    if request.verb is not Verb.PATCH and media == JSON:
        verbatim.keep_texts(document, paths, request.body)
    else:
        verbatim.write_texts(document, paths, ordered=media in _BY_KEYS)


def _take_entries(document: Document, *, stored: bool) -> list[Document] | None:
    """The managed fields of a document, removed from it, if they have the form that a server gives them.

    Then nothing in them has to be decoded. An empty list is kept, because it resets managed fields, unlike an absent
    one.
    """
    metadata = document.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    if entries is None:
        return None
    try:
        if not stored:
            msgspec.convert({"entries": entries}, _PlainEntries)
    except msgspec.ValidationError:
        return None
    del document["metadata"]["managedFields"]
    return cast("list[Document]", entries)


def _decode(request: APIRequest, info: ResourceInfo, problems: FieldProblems) -> Any:
    media = request.content_type or "application/json"
    if media == "application/json":
        document = gojson.read(request.body)
        check_parts(document, len(request.body))
        if not is_encoded(request) and (request.write.field_validation != "Ignore" or not info.custom):
            problems.duplicate = duplicate_fields(request.body, document)
        # A struct or a map of Go that is decoded twice has what is in both.
        return gojson.read_merged(request.body) if problems.duplicate and not info.custom else document
    if media == YAML:
        from pilotage.meta.text import yamltext  # imported on use: few bodies are YAML

        try:
            document, problems.repeated = yamltext.read_lenient(request.body)
        except DecodeError as error:
            raise unrecognized(info, yaml_error(str(error)), request.body) from None
        check_parts(document, len(request.body))
        return sorted_keys(document)
    if media == PROTOBUF and not info.custom:
        return _protobuf(request, info)
    accepted = ACCEPTED if media != PROTOBUF else "application/json, application/yaml"
    raise UnsupportedMediaType(
        f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    )


def accepts(info: ResourceInfo, document: Document) -> bool:
    """Whether a new custom resource with valid metadata is complete and valid as it is: one quick check finds that for
    most."""
    schema = info.schema
    # A status may be dropped, and required; the rules of a scale are not in the schema.
    return schema is not None and info.rules.scale is None and "status" not in document and schema.accepts(document)


def is_encoded(request: APIRequest) -> bool:
    """Whether the body was encoded from an object in this process."""
    return request.encoded is not None and request.encoded is request.body


def sorted_keys(value: Any) -> Any:
    """The document with the keys of all mappings sorted: kube-apiserver converts YAML and reports unknown fields in
    this order."""
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    return [sorted_keys(item) for item in value] if isinstance(value, list) else value


def yaml_error(message: str) -> str:
    """A message of our YAML reader in the form of Go's, which names no line for the first one.

    Its parser counts lines from 0, its scanner from 1.
    """
    if alias := _YAML_ALIAS.fullmatch(message):
        return f"yaml: unknown anchor '{alias[1]}' referenced"
    found = _YAML_ERROR.fullmatch(message)
    if found is None:
        return f"yaml: {message}"
    line = int(found[2])
    shown = line - 1 if found[1].startswith("did not find expected") else line
    return f"yaml: {f'line {shown}: ' if line > 1 else ''}{found[1]}"


def _protobuf(request: APIRequest, info: ResourceInfo) -> Document:
    """The document of a message. Of an unknown kind only the name is decoded, which is then rejected."""
    from pilotage.types import protobuf  # most programs in process send none

    try:
        envelope = protobuf.unwrap(request.body, info.gvk)
    except DecodeError as error:
        raise unrecognized(info, str(error), request.body) from None
    try:
        document = protobuf.decode(envelope)
    except DecodeError as error:
        raise unhandled(info, str(error), envelope.kind, envelope.api_version.rpartition("/")[2]) from None
    check_parts(document, len(request.body))
    return document


def check_kind(document: Document, info: ResourceInfo, request: APIRequest) -> None:
    """apiVersion and kind must agree with the path; a built-in kind may leave them out."""
    if document.get("kind") == info.gvk.kind and document.get("apiVersion") == info.api_version:
        return
    for field_name in ("apiVersion", "kind"):
        if not isinstance(found := document.get(field_name) or "", str):
            reason = (
                f"json: cannot unmarshal {jsontext.json_type(found)} into Go struct field .{field_name} of type string"
            )
            raise unrecognized(info, f"couldn't get version/kind; json parse error: {reason}", request.body)
    api_version, kind = document.get("apiVersion") or "", document.get("kind") or ""
    if api_version.count("/") == 1:
        api_version = api_version.removeprefix("/")  # written by clients that join an empty group and a version
    if not info.custom:
        _check_builtin_kind(api_version or info.gvk.api_version, kind or info.gvk.kind, info, request)
    elif not kind and request.verb is Verb.PATCH:
        raise undecodable(info, request, NO_KIND)
    elif not kind:
        raise unrecognized(info, f"{NO_KIND} in '{excerpt(request.body)}'", request.body)
    else:
        _check_custom_kind(api_version, kind, document, info, request)
    document["apiVersion"], document["kind"] = info.gvk.api_version, info.gvk.kind


def _check_builtin_kind(api_version: str, kind: str, info: ResourceInfo, request: APIRequest) -> None:
    if (api_version, kind) == (info.gvk.api_version, info.gvk.kind):
        return
    _check_api_version(api_version, info, request)
    older = _is_older(api_version, info)
    if kind == info.gvk.kind and (older or api_version in info.versions):
        if older and (request.verb is Verb.PATCH or kind == "Eviction"):
            return
        raise other_version(api_version, info)
    gvk = GroupVersionKind.of(api_version, kind)
    if builtin.definition_name(gvk) is not None or (api_version, kind) == ("v1", "List"):
        version, group = gvk.version, info.gvk.group.partition(".")[0] or "core"
        reason = f"converting ({version}.{kind}) to ({group}.{info.gvk.kind}): unknown conversion"
    else:
        reason = f'no kind "{kind}" is registered for version "{api_version}" in scheme "{SCHEME}"'
    if request.verb is Verb.PATCH:
        raise undecodable(info, request, reason)
    raise unhandled(info, reason, kind, gvk.version)


def _is_older(api_version: str, info: ResourceInfo) -> bool:
    """Whether a version is an alpha or a beta of the group of a built-in kind: old clients send such."""
    group, _, version = api_version.rpartition("/")
    return bool(group) and group == info.gvk.group and version_priority(version)[0] in PRERELEASES


def _check_custom_kind(
    api_version: str, kind: str, document: Document, info: ResourceInfo, request: APIRequest
) -> None:
    expected = info.gvk.api_version
    causes = [] if kind == info.gvk.kind else [invalid("kind", kind, f"must be {info.gvk.kind}")]
    if api_version != expected:
        _check_api_version(api_version, info, request)
        if request.verb is not Verb.PATCH:
            raise other_version(api_version, info)
        causes.append(invalid("apiVersion", api_version, f"must be {expected}"))
    if causes:
        metadata = document.get("metadata")
        name = metadata.get("name", "") if isinstance(metadata, dict) else ""
        raise invalid_error(GroupVersionKind.of(api_version or "v1", kind).group_kind, str(name), causes)


def _check_api_version(api_version: str, info: ResourceInfo, request: APIRequest) -> None:
    try:
        GroupVersion.parse(api_version or "v1")
    except ValueError as error:
        raise unrecognized(info, str(error), request.body) from None


def normalize_metadata(document: Document, info: ResourceInfo, request: APIRequest, problems: FieldProblems) -> None:
    """Ensure that metadata exists, has the right types, and no unknown fields."""
    metadata = document.get("metadata")
    if is_minimal(metadata):
        problems.minimal_metadata = True
        return
    if metadata is None:
        metadata = document["metadata"] = {}
    if not isinstance(metadata, dict):
        reason = f"json: cannot unmarshal {jsontext.json_type(metadata)} into field metadata of type object"
        raise undecodable(info, request, reason)
    for key in _INTEGERS:
        number = metadata.get(key)
        if type(number) is float and number.is_integer() and abs(number) < 2**63:
            metadata[key] = int(number)
    if not all(metadata.values()) or not metadata.keys() <= _METADATA_FIELDS:
        _check_empty_types(metadata, info, request)
        _drop_empty_and_unknown(metadata, problems)
    try:
        msgspec.convert(metadata, _Metadata)
    except msgspec.ValidationError:
        _retry_without_nulls(metadata, info, request)
    for part, known in _PARTS.items():
        for index, item in enumerate(metadata.get(part, ())):
            for key in (item or {}).keys() - known:
                del item[key]
                problems.unknown.append(f"metadata.{part}[{index}].{key}")


def _drop_empty_and_unknown(metadata: Document, problems: FieldProblems) -> None:
    for key in [key for key, value in metadata.items() if not value or key not in _METADATA_FIELDS]:
        if key == "managedFields" and metadata[key] is not None:
            continue  # an empty list resets them
        del metadata[key]  # an empty value is equivalent to an absent one
        if key not in _METADATA_FIELDS:
            problems.unknown.append(f"metadata.{key}")


def _check_empty_types(metadata: Document, info: ResourceInfo, request: APIRequest) -> None:
    """Empty values are dropped, but must have the right type: empty labels are `{}`, not `false`."""
    empty = {key: value for key, value in metadata.items() if not value and value is not None}
    try:
        msgspec.convert(empty, _Metadata)
    except msgspec.ValidationError as error:
        raise undecodable(info, request, mismatch(str(error), "metadata")) from None


def _retry_without_nulls(metadata: Document, info: ResourceInfo, request: APIRequest) -> None:
    """A null among labels or annotations is an empty text; anything else of a wrong type is an error."""
    for part in ("labels", "annotations"):
        texts = metadata.get(part)
        if isinstance(texts, dict):
            metadata[part] = {key: "" if value is None else value for key, value in texts.items()}
    try:
        msgspec.convert(metadata, _Metadata)
    except msgspec.ValidationError as error:
        raise undecodable(info, request, mismatch(str(error), "metadata")) from None
