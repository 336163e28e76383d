"""Request bodies to documents: decoded strictly, checked to be of the right kind, unknown and doubled fields noted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from itertools import islice
from types import TracebackType
from typing import Annotated, Any, cast

import msgspec

from pilotage.errors import (
    ApiError,
    BadRequest,
    Cause,
    DecodeError,
    Invalid,
    Status,
    StatusDetails,
    UnsupportedMediaType,
)
from pilotage.meta import gojson, jsontext
from pilotage.meta.causes import invalid, invalid_error, not_supported, too_long
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupKind, GroupVersion, GroupVersionKind
from pilotage.meta.models import ManagedFieldsEntry, ObjectMeta, OwnerReference, shapes
from pilotage.rest.negotiation import PROTOBUF, YAML
from pilotage.rest.query import parse_int
from pilotage.rest.request import Request, Verb
from pilotage.server.codec.scalars import Mismatch
from pilotage.server.resources import ResourceInfo
from pilotage.server.verbs.embedded import normalize_embedded
from pilotage.server.verbs.freeform import keep_sent_texts
from pilotage.types import builtin

ACCEPTED = f"application/json, application/yaml, {PROTOBUF}"
MAX_UNKNOWN = 100
"""How many unknown fields are named."""
VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_UINT64 = range(2**64)
_LAST_REVISION = 2**63 - 1
"""What storages can count to. A later version is as far in the future as this one."""
_OPTIONS = {Verb.CREATE: "CreateOptions", Verb.UPDATE: "UpdateOptions", Verb.PATCH: "PatchOptions"}
_METADATA_FIELDS = frozenset(shapes(ObjectMeta)) | {"clusterName"}
_PARTS = {
    "ownerReferences": frozenset(shapes(OwnerReference)),
    "managedFields": frozenset(shapes(ManagedFieldsEntry)),
}
TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
SCHEME = "pkg/runtime/scheme.go:111"
"""What kube-apiserver calls the list of its kinds in messages."""
JSON_TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")
NO_KIND = "Object 'Kind' is missing"
_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z\Z"
_OTHER_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request"
_YAML_ERROR = re.compile(r"(?:the document is not YAML: )?(.*) \(line (\d+), column \d+\)", re.DOTALL)
_KEY = re.compile(rb'"\s*:')
_GAP = re.compile(rb'"\s+:')
_encode = msgspec.json.Encoder().encode


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


class _Entry(ManagedFieldsEntry):
    """An entry that is checked with all that is in it."""

    raw_fields: dict[str, Any] | None = msgspec.field(name="fieldsV1", default=None)  # type: ignore[assignment]


class _Metadata(ObjectMeta):
    managed_fields: list[_Entry] = []  # type: ignore[assignment]


@dataclass(slots=True)
class FieldProblems:
    """Fields that the schema does not know, and fields given twice: warnings, an error or nothing, as asked for."""

    unknown: list[str] = field(default_factory=list)
    duplicate: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    """What the YAML reader says of keys that are there twice."""

    def report(self, request: Request, info: ResourceInfo) -> list[str]:
        """The warnings to give. Raises BadRequest where the request asked to be strict."""
        if not (self.unknown or self.duplicate or self.repeated):
            return []
        validation = request.write.field_validation
        lines = self._custom_lines() if info.custom else self._builtin_lines()
        if validation == "Ignore" or not (lines or self.repeated):
            return []
        if validation == "Strict":
            if self.repeated:
                lines = ["yaml: unmarshal errors:\n  " + "\n  ".join(self.repeated), *lines]
            raise undecodable(info, request, f"strict decoding error: {', '.join(lines)}")
        return self.repeated + lines

    def _custom_lines(self) -> list[str]:
        """Kubernetes looks for duplicates first, then reads the metadata, then prunes by the schema."""
        unknown = sorted(self.unknown, key=lambda path: (not path.startswith("metadata."), path))
        return [*map(_duplicate, self.duplicate), *map(_unknown, unknown)]

    def _builtin_lines(self) -> list[str]:
        """What is inside an unknown field is not looked at."""
        roots = tuple(f"{path}." for path in self.unknown) + tuple(f"{path}[" for path in self.unknown)
        known = [path for path in self.duplicate if path not in self.unknown and not path.startswith(roots)]
        return [*map(_unknown, self.unknown), *map(_duplicate, known)]


def _unknown(path: str) -> str:
    return f"unknown field {gojson.quoted(path)}"


def _duplicate(path: str) -> str:
    return f"duplicate field {gojson.quoted(path)}"


def with_warnings(warnings: Iterable[str]) -> AbstractContextManager[None]:
    """Errors of the block have these warnings, also those that are added in it."""
    return _WithWarnings(warnings)


class _WithWarnings(AbstractContextManager[None]):
    """Half the time of a generator with `contextmanager`, in each write."""

    __slots__ = ("_warnings",)

    def __init__(self, warnings: Iterable[str]) -> None:
        self._warnings = warnings

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, ApiError):
            error.warnings = (*self._warnings, *error.warnings)


def check_options(request: Request) -> None:
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


def read(request: Request, info: ResourceInfo) -> tuple[Document, FieldProblems]:
    """The document of a create or an update. It is of the kind that `served` serves, and has metadata."""
    problems = FieldProblems()
    try:
        document = _decoded(request, info, problems)
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
    return fitted(document, info, request, problems), problems


def fitted(document: Document, info: ResourceInfo, request: Request, problems: FieldProblems) -> Document:
    """The document in the form that strategies work on, with metadata; unknown fields of built-in kinds are noted."""
    codec, entries = info.codec, _take_entries(document)
    if codec is None:
        normalize_metadata(document, info, request, problems)
        if entries is not None:
            document["metadata"]["managedFields"] = entries
    unknown: list[None] = []
    try:
        if codec is None:
            normalize_embedded(document, info)
            return document
        keep_sent_texts(document, info, request)
        internal = codec.decode(document, unknown)
    except Mismatch as mismatch:
        raise undecodable(info, request, str(mismatch)) from None
    if unknown:
        problems.unknown = list(islice(codec.unknown_fields(document), MAX_UNKNOWN))
    if entries is not None:
        document["metadata"]["managedFields"] = internal["metadata"]["managedFields"] = entries
    return internal


def _take_entries(document: Document) -> list[Document] | None:
    """The managed fields of a document, removed from it, if they have the form that a server gives them.

    Then nothing in them has to be decoded. Also an empty list is kept: it is not the same as none, but resets them.
    """
    metadata = document.get("metadata")
    entries = metadata.get("managedFields") if isinstance(metadata, dict) else None
    if entries is None:
        return None
    try:
        msgspec.convert({"entries": entries}, _PlainEntries)
    except msgspec.ValidationError:
        return None
    del document["metadata"]["managedFields"]
    return cast("list[Document]", entries)


def set_namespace(info: ResourceInfo, request: Request, metadata: Document) -> None:
    """The namespace of the path is the object's; another one in the object is an error."""
    if not info.namespaced:
        metadata.pop("namespace", None)
    elif (metadata.get("namespace") or request.namespace) != request.namespace:
        raise BadRequest(_OTHER_NAMESPACE)
    else:
        metadata["namespace"] = request.namespace


def check_identity(info: ResourceInfo, request: Request, document: Document, current: Document | None) -> None:
    """The name and the uid in a body must be those of the object that the path names."""
    metadata = document["metadata"]
    name = metadata.get("name", "")
    if name != request.name:
        if not name:
            raise BadRequest(
                f"the name of the object ({request.name} based on URL) was undeterminable: name must be provided"
            )
        raise BadRequest(f"the name of the object ({name}) does not match the name on the URL ({request.name})")
    if info.namespaced and metadata.get("namespace", request.namespace) != request.namespace:
        raise BadRequest(_OTHER_NAMESPACE)
    uid = metadata.get("uid")
    if uid and current is not None and info.strategy.uid_precondition and uid != current["metadata"]["uid"]:
        raise info.conflict(
            request.name,
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {current['metadata']['uid']}",
        )


def check_version(info: ResourceInfo, document: Document, current: Document, name: str) -> None:
    """The resource version that the writer gave must be the current one; some kinds require one."""
    given = document["metadata"].get("resourceVersion", "")
    if not given or given == "0":
        if not info.strategy.unconditional_update:
            cause = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid_error(GroupKind(*info.group_resource), name, [cause])  # the resource, not the kind
        return
    if given == current["metadata"]["resourceVersion"]:
        return
    try:
        parse_int(given, "ParseUint", _UINT64)
    except ValueError as error:
        raise ApiError(status=Status(500, "", str(error))) from None
    raise info.conflict(name)


def version_number(text: str) -> int:
    """The resource version of a query as the revision that it is; anything but a number is a 500, as in Kubernetes."""
    try:
        return min(parse_int(text, "ParseUint", _UINT64), _LAST_REVISION)
    except ValueError as error:
        raise ApiError(status=Status(500, "", f'resourceVersion: Invalid value: "{text[:100]}": {error}')) from None


def _decoded(request: Request, info: ResourceInfo, problems: FieldProblems) -> Any:
    media = request.content_type or "application/json"
    if media == "application/json":
        document = gojson.read(request.body)
        if request.write.field_validation != "Ignore":
            with suppress(UnicodeDecodeError):  # such a body was read leniently
                problems.duplicate = duplicate_fields(request.body, document)
        return document
    if media == YAML:
        from pilotage.meta import yamltext  # few bodies are: not worth an import

        try:
            document, problems.repeated = yamltext.read_lenient(request.body)
        except DecodeError as error:
            raise unrecognized(info, yaml_error(str(error)), request.body) from None
        return sorted_keys(document)
    if media == PROTOBUF and not info.custom:
        return _protobuf(request, info)
    accepted = ACCEPTED if media != PROTOBUF else "application/json, application/yaml"
    raise UnsupportedMediaType(
        f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    )


def sorted_keys(value: Any) -> Any:
    """With the keys of all mappings in order, in which kube-apiserver converts YAML and reports unknown fields."""
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    return [sorted_keys(item) for item in value] if isinstance(value, list) else value


def yaml_error(message: str) -> str:
    """A message of our YAML reader in the form of Go's, which names no line for the first one."""
    found = _YAML_ERROR.fullmatch(message)
    if found is None:
        return f"yaml: {message}"
    line = int(found[2]) - 1
    return f"yaml: {f'line {line}: ' if line else ''}{found[1]}"


def _protobuf(request: Request, info: ResourceInfo) -> Document:
    """The document of a message. Of a kind that is not known here only its name is, which is then refused."""
    from pilotage.types import protobuf  # most programs in process send none

    try:
        envelope = protobuf.unwrap(request.body, info.gvk)
    except DecodeError as error:
        raise unrecognized(info, str(error), request.body) from None
    try:
        return protobuf.decode(envelope)
    except DecodeError as error:
        raise unhandled(info, str(error), envelope.kind, envelope.api_version.rpartition("/")[2]) from None


def check_kind(document: Document, info: ResourceInfo, request: Request) -> None:
    """apiVersion and kind must be those of the path; a built-in kind may leave them out."""
    for field_name in ("apiVersion", "kind"):
        if not isinstance(found := document.get(field_name) or "", str):
            reason = (
                f"json: cannot unmarshal {jsontext.json_type(found)} into Go struct field .{field_name} of type string"
            )
            raise unrecognized(info, f"couldn't get version/kind; json parse error: {reason}", request.body)
    api_version, kind = document.get("apiVersion") or "", document.get("kind") or ""
    if not info.custom:
        _check_builtin_kind(api_version or info.gvk.api_version, kind or info.gvk.kind, info, request)
    elif not kind and request.verb is Verb.PATCH:
        raise undecodable(info, request, NO_KIND)
    elif not kind:
        raise unrecognized(info, f"{NO_KIND} in '{_excerpt(request.body)}'", request.body)
    else:
        _check_custom_kind(api_version, kind, document, info, request)
    document["apiVersion"], document["kind"] = info.gvk.api_version, info.gvk.kind


def _check_builtin_kind(api_version: str, kind: str, info: ResourceInfo, request: Request) -> None:
    if (api_version, kind) == (info.gvk.api_version, info.gvk.kind):
        return
    _check_api_version(api_version, info, request)
    gvk = GroupVersionKind.of(api_version, kind)
    if builtin.definition_name(gvk) is not None or (api_version, kind) == ("v1", "List"):
        version, group = gvk.version, info.gvk.group.partition(".")[0] or "core"
        reason = f"converting ({version}.{kind}) to ({group}.{info.gvk.kind}): unknown conversion"
    else:
        reason = f'no kind "{kind}" is registered for version "{api_version}" in scheme "{SCHEME}"'
    if request.verb is Verb.PATCH:
        raise undecodable(info, request, reason)
    raise unhandled(info, reason, kind, gvk.version)


def _check_custom_kind(api_version: str, kind: str, document: Document, info: ResourceInfo, request: Request) -> None:
    expected = info.gvk.api_version
    causes = []
    if api_version != expected:
        _check_api_version(api_version, info, request)
        if request.verb is not Verb.PATCH:
            raise BadRequest(
                f"the API version in the data ({api_version}) does not match the expected API version ({expected})"
            )
        causes.append(invalid("apiVersion", api_version, f"must be {expected}"))
    if kind != info.gvk.kind:
        causes.append(invalid("kind", kind, f"must be {info.gvk.kind}"))
    if causes:
        metadata = document.get("metadata")
        name = metadata.get("name", "") if isinstance(metadata, dict) else ""
        raise invalid_error(GroupKind(info.gvk.group, kind), str(name), causes)


def _check_api_version(api_version: str, info: ResourceInfo, request: Request) -> None:
    try:
        GroupVersion.parse(api_version or "v1")
    except ValueError as error:
        raise unrecognized(info, str(error), request.body) from None


def normalize_metadata(document: Document, info: ResourceInfo, request: Request, problems: FieldProblems) -> None:
    """Metadata is there, has the right types and nothing unknown in it."""
    metadata = document.get("metadata")
    if metadata is None:
        metadata = document["metadata"] = {}
    if not isinstance(metadata, dict):
        reason = f"json: cannot unmarshal {jsontext.json_type(metadata)} into field metadata of type object"
        raise undecodable(info, request, reason)
    _check_empty_types(metadata, info, request)
    for key in [key for key, value in metadata.items() if not value or key not in _METADATA_FIELDS]:
        if key == "managedFields" and metadata[key] is not None:
            continue  # an empty list resets them
        del metadata[key]  # what is empty is the same as absent
        if key not in _METADATA_FIELDS:
            problems.unknown.append(f"metadata.{key}")
    try:
        msgspec.convert(metadata, _Metadata)
    except msgspec.ValidationError:
        _retry_without_nulls(metadata, info, request)
    for part, known in _PARTS.items():
        for index, item in enumerate(metadata.get(part, ())):
            for key in item.keys() - known:
                del item[key]
                problems.unknown.append(f"metadata.{part}[{index}].{key}")


def _check_empty_types(metadata: Document, info: ResourceInfo, request: Request) -> None:
    """What is empty is dropped, but must be of the right type: no labels are `{}`, not `false`."""
    empty = {key: value for key, value in metadata.items() if not value and value is not None}
    try:
        msgspec.convert(empty, _Metadata)
    except msgspec.ValidationError as error:
        raise undecodable(info, request, mismatch(str(error), "metadata")) from None


def _retry_without_nulls(metadata: Document, info: ResourceInfo, request: Request) -> None:
    """A null among labels or annotations is an empty text; anything else that does not fit is an error."""
    for part in ("labels", "annotations"):
        texts = metadata.get(part)
        if isinstance(texts, dict):
            metadata[part] = {key: "" if value is None else value for key, value in texts.items()}
    try:
        msgspec.convert(metadata, _Metadata)
    except msgspec.ValidationError as error:
        raise undecodable(info, request, mismatch(str(error), "metadata")) from None


def duplicate_fields(body: bytes, document: Any) -> list[str]:
    """Paths of keys given twice. The slow scan runs only where nothing cheaper can rule them out."""
    # A key is what stands before `":`. Encoded again, a document has as many of them, unless one was given twice; text
    # may look like a key, too, but does so in both, unless it is escaped in two ways.
    written = _encode(document)
    if written == body:  # as our own client writes
        return []
    plain = b"\\u" not in body and not _GAP.search(body)
    if plain and body.count(b'":') == written.count(b'":'):
        return []
    if len(_KEY.findall(body)) == _count_keys(document):
        return []
    return jsontext.duplicate_fields(body)


def _count_keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_count_keys(item) for item in value.values() if isinstance(item, dict | list))
    if isinstance(value, list):
        return sum(_count_keys(item) for item in value if isinstance(item, dict | list))
    return 0


def unhandled(info: ResourceInfo, reason: str, kind: str = "", api_version: str = "") -> BadRequest:
    """The 400 for a body that is of the right kind by name but not by content."""
    version = api_version or info.gvk.version
    return BadRequest(
        f'{kind or info.gvk.kind} in version "{version}" cannot be handled as a {info.gvk.kind}: {reason}'
    )


class Undecodable(Invalid):
    """A patch made content of an object that its kind cannot hold."""

    def __init__(self, message: str, reason: str, *, details: StatusDetails | None) -> None:
        super().__init__(message, details=details)
        self.why = reason


def undecodable(info: ResourceInfo, request: Request, reason: str) -> ApiError:
    """The error for content that the kind cannot hold: a 400, or a 422 where a patch made it so."""
    if request.verb is not Verb.PATCH:
        return unhandled(info, reason)
    cause = Cause("FieldValueInvalid", f"Invalid value: {reason}", "patch")
    error = info.invalid(request.name, [cause])
    return Undecodable(str(error), reason, details=error.status.details)


def unrecognized(info: ResourceInfo, reason: str, body: bytes) -> BadRequest:
    """The 400 for a body that is no object at all. Of what should be a Secret nothing is shown."""
    shown = f" ({_summary(body)})" if info.gvk.kind != "Secret" else ""
    return BadRequest(f"the object provided is unrecognized (must be of type {info.gvk.kind}): {reason}{shown}")


def _summary(body: bytes) -> str:
    if not body or body.startswith(b"{"):
        return _excerpt(body, 30)
    return body[:30].hex() + (" ..." if len(body) > 30 else "")


def _excerpt(body: bytes, length: int = 200) -> str:
    text = body[: length + 1].decode("utf-8", "replace")
    return (text if len(text) <= length else text[:length] + " ...") or "<empty>"


def mismatch(message: str, root: str = "") -> str:
    """msgspec's words for a value of a wrong type, in words that a user of the API knows."""
    match = _MISMATCH.fullmatch(message)
    if match is None:
        return f"json: {message.replace('`$', f'`{root}').replace('`', '')}"
    wanted, found, path = match.groups()
    where = f"{root}{path or ''}".lstrip(".").replace("[...]", "")
    names = [_JSON_TYPES.get(name, name) for name in wanted.split(" | ") if name != "null"]
    return f"json: cannot unmarshal {_JSON_TYPES.get(found, found)} into field {where} of type {' or '.join(names)}"


_MISMATCH = re.compile(r"Expected `([^`]+)`, got `([^`]+)`(?: - at `\$([^`]*)`)?")
_JSON_TYPES = {"str": "string", "int": "number", "float": "number", "bool": "boolean"}
