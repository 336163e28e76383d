"""A request value to an HTTP request, and back: paths, queries, bodies of deletions. No I/O.

`parse` undoes `build`. Paths are `/api/v1/…` for the core group and `/apis/{group}/{version}/…` for the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any
from urllib.parse import quote, unquote, urlencode

import msgspec

from pilotage.errors import BadRequest, Cause, DecodeError, NotFound, StatusDetails, UnsupportedMediaType
from pilotage.meta.causes import invalid, not_supported, shown
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.redaction import reason_of
from pilotage.meta.selectors.selection import field_text
from pilotage.meta.text import gojson
from pilotage.meta.validation.names import check_segment, path_segment_name
from pilotage.meta.values import Value
from pilotage.rest import fence
from pilotage.rest import query as queries
from pilotage.rest.negotiation import ACCEPT, JSON, LIST_ACCEPT, PROTOBUF, YAML, requested_form
from pilotage.rest.request import (
    PROPAGATION_POLICIES,
    APIRequest,
    DeleteOptions,
    Form,
    ListOptions,
    User,
    Verb,
    WriteOptions,
    no_method,
)
from pilotage.rest.users import impersonation_headers

FREQUENT_BOOKMARKS = "pilotage-frequent-bookmarks"
"""The preference (RFC 7240) of a client that detects a dead connection by the bookmarks. Other servers ignore it."""
_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PARAMETERS = re.compile(rf"(?:\s*{_WORD}\s*=\s*(?:{_WORD}|\"(?:[^\"\\]|\\.)*\")\s*(?:;|\Z))*\s*")
"""What may follow the semicolon after a media type."""
_WATCH_PATH = re.compile(r"(/api/[^/]+|/apis/[^/]+/[^/]+)/watch(/.+)")
_METHODS = {
    Verb.GET: "GET",
    Verb.LIST: "GET",
    Verb.WATCH: "GET",
    Verb.CREATE: "POST",
    Verb.UPDATE: "PUT",
    Verb.PATCH: "PATCH",
    Verb.DELETE: "DELETE",
    Verb.DELETE_COLLECTION: "DELETE",
}
_NO_NAMES = frozenset((".", ".."))
_CONNECTIONS = ("attach", "exec", "log", "portforward")
_NO_DELETE_OPTIONS = {"kind": "DeleteOptions", "apiVersion": "v1"}
_DELETE_OPTIONS = GroupVersionKind("", "v1", "DeleteOptions")
_READS = (Verb.GET, Verb.LIST, Verb.WATCH, Verb.DELETE_COLLECTION)
_NO_USER, _NO_WRITE, _NO_DELETE = User(), WriteOptions(), DeleteOptions()
_WRITES = (Verb.CREATE, Verb.UPDATE, Verb.PATCH)


class EncodedRequest(Value, frozen=True):
    """An HTTP request as a value."""

    __unshown__ = frozenset({"headers", "body"})

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


def build(request: APIRequest) -> EncodedRequest:
    """The HTTP request for `request`."""
    query = _query(request)
    target = path_of(request) + ("?" + urlencode(query, quote_via=quote) if query else "")
    accept = LIST_ACCEPT if request.verb in (Verb.LIST, Verb.DELETE_COLLECTION) else ACCEPT
    headers = [("accept", accept[request.form])]
    body = request.body
    if request.verb in (Verb.DELETE, Verb.DELETE_COLLECTION):
        body = delete_body(request.delete)
        if not body and request.options.resource_version:
            body = msgspec.json.encode(_NO_DELETE_OPTIONS)  # without a body, the version is a precondition as well
    if body or request.content_type:
        headers.append(("content-type", request.content_type or JSON))
    if request.user.name:
        headers += impersonation_headers(request.user)
    if request.options.allow_watch_bookmarks and request.options.frequent_bookmarks:
        headers.append(("prefer", FREQUENT_BOOKMARKS))
    if request.fences and (terms := fence.header_of(request.fences)):
        headers.append((fence.HEADER, terms))
    if request.user_agent:
        headers.append(("user-agent", request.user_agent))
    return EncodedRequest(_METHODS[request.verb], target, tuple(headers), body)


def path_of(request: APIRequest) -> str:
    """The path without the query. Raises BadRequest for a name or a namespace that would be several parts of it:
    servers split a path after they have decoded it."""
    group, version, resource = request.resource
    parts = ["apis", group, version] if group else ["api", version]
    if request.namespace and not (resource == "namespaces" and not group):
        check_segment("namespace", request.namespace)
        parts += ["namespaces", request.namespace]
    parts.append(resource)
    if request.name:
        check_segment("name", request.name)
        parts.append(request.name)
    if request.subresource:
        parts.append(request.subresource)
    return "/" + "/".join(map(_quoted, parts))


_quoted = lru_cache(maxsize=1024)(partial(quote, safe=""))


def _query(request: APIRequest) -> list[tuple[str, str]]:
    query: list[tuple[str, str]] = []
    if request.verb in _READS:
        query += _list_query(request.options)
    if request.verb is Verb.WATCH:
        query.append(("watch", "true"))
    if request.verb in _WRITES:
        write = request.write
        if write.dry_run:
            query.append(("dryRun", "All"))
        if write.field_manager:
            query.append(("fieldManager", write.field_manager))
        if write.field_validation:
            query.append(("fieldValidation", write.field_validation))
        if write.force is not None:
            query.append(("force", _boolean_text(write.force)))
    return query


def _list_query(options: ListOptions) -> list[tuple[str, str]]:
    query = [
        (name, value)
        for name, value in (
            ("labelSelector", options.label_selector),
            ("fieldSelector", options.field_selector),
            ("continue", options.continue_token),
            ("resourceVersion", options.resource_version),
            ("resourceVersionMatch", options.resource_version_match),
            ("includeObject", options.include_object),
        )
        if value
    ]
    if options.limit:
        query.append(("limit", str(options.limit)))
    if options.timeout_seconds is not None:
        query.append(("timeoutSeconds", str(options.timeout_seconds)))
    if options.allow_watch_bookmarks:
        query.append(("allowWatchBookmarks", "true"))
    if options.send_initial_events is not None:
        query.append(("sendInitialEvents", _boolean_text(options.send_initial_events)))
    return query


def delete_body(options: DeleteOptions) -> bytes:
    """The DeleteOptions document; empty if all options have their defaults."""
    document: dict[str, Any] = {}
    if options.dry_run:
        document["dryRun"] = ["All"]
    if options.grace_period_seconds is not None:
        document["gracePeriodSeconds"] = options.grace_period_seconds
    if options.propagation_policy:
        document["propagationPolicy"] = options.propagation_policy
    if options.orphan_dependents is not None:
        document["orphanDependents"] = options.orphan_dependents
    preconditions = {
        name: value
        for name, value in (("uid", options.uid), ("resourceVersion", options.resource_version))
        if value is not None
    }
    if preconditions:
        document["preconditions"] = preconditions
    if not document:
        return b""
    return msgspec.json.encode(_NO_DELETE_OPTIONS | document)


def parse(http: EncodedRequest) -> APIRequest:
    """The request value of an HTTP request. Raises ApiError if there is none."""
    return parse_parts(http.method, http.target, {name.lower(): value for name, value in http.headers}, http.body)


def parse_parts(method: str, target: str, headers: Mapping[str, str], body: bytes, user: User = _NO_USER) -> APIRequest:
    """The same for the parts of an HTTP request of a user; the names of its headers are in lower case."""
    path, _, text = target.partition("?")
    query = queries.parse(text)
    resource, namespace, name, subresource = split(listed := without_watch(path))
    if listed != path:
        query = _watch_query(name, subresource, query, method)
        name = ""
    if problems := path_segment_name(name):
        raise BadRequest(f'Name parameter invalid: "{name}": {";".join(problems)}')
    watch = queries.boolean(query, "watch") and method in ("GET", "HEAD") and not name
    verb = _verb(method, name, watch)
    deleting = verb in (Verb.DELETE, Verb.DELETE_COLLECTION)
    return APIRequest(
        verb=verb,
        resource=resource,
        namespace=namespace,
        name=name,
        subresource=subresource,
        form=requested_form(headers.get("accept", "")) if not deleting else Form.OBJECT,
        options=_options(verb, query, headers),
        write=_write_options(query, queries.values(text, "dryRun")) if verb in _WRITES else _NO_WRITE,
        delete=_delete_options(
            query, queries.values(text, "dryRun"), body, _media(headers.get("content-type", ""), verb)
        )
        if deleting
        else _NO_DELETE,
        body=b"" if deleting else body,
        content_type=_media(headers.get("content-type", ""), verb) if verb in _WRITES else "",
        user_agent=headers.get("user-agent", ""),
        parameters=query if subresource in _CONNECTIONS else {},
        user=user,
        fences=fence.parse_header(headers[fence.HEADER]) if fence.HEADER in headers else (),
    )


def without_watch(path: str) -> str:
    """The path without the `watch` of the old form `/api/v1/watch/…`; any other path is returned unchanged."""
    old = _WATCH_PATH.fullmatch(path) if "/watch/" in path else None
    return old[1] + old[2] if old else path


def _watch_query(name: str, subresource: str, query: Mapping[str, str], method: str) -> dict[str, str]:
    """The query of the list that is equivalent to the old form of a watch."""
    if subresource:
        raise NotFound("the server could not find the requested resource", details=StatusDetails())
    if method not in ("GET", "HEAD"):
        raise no_method()
    if not name:
        return {**query, "watch": "true"}
    named = field_text({"metadata.name": name})
    given = query.get("fieldSelector") or named
    if {named, named.replace("=", "==", 1)}.isdisjoint(given.split(",")):
        raise BadRequest("fieldSelector metadata.name doesn't match requested name")
    return {**query, "watch": "true", "fieldSelector": given}


@lru_cache(maxsize=256)
def split(path: str) -> tuple[GroupVersionResource, str, str, str]:
    """Split a path into resource, namespace, name and all that follows it. Raises NotFound for any other path."""
    text = unquote(path.strip("/"))  # a byte that is not UTF-8 becomes U+FFFD, which no name has
    parts = text.split("/")
    at = 2 if parts[0] == "api" else 3
    if parts[at : at + 2] == ["namespaces", ""] and len(parts) == at + 3:
        del parts[at : at + 2]  # an empty namespace is all of them
    if not all(parts) or "\x00" in text or path.startswith("//"):
        raise NotFound("404 page not found")
    if parts[0] == "api" and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        raise NotFound("404 page not found")
    namespace = ""
    if rest[0] == "namespaces" and len(rest) >= 3 and not (len(rest) == 3 and rest[2] in ("status", "finalize")):
        namespace, rest = rest[1], rest[2:]
    resource, name, *more = [*rest, ""]
    if not _NO_NAMES.isdisjoint((group, version, resource, namespace, *more, name if any(more) else "")):
        raise NotFound("404 page not found")
    return GroupVersionResource(group, version, resource), namespace, name, "/".join(more).rstrip("/")


def _verb(method: str, name: str, watch: bool) -> Verb:
    if watch:
        return Verb.WATCH
    match method:
        case "GET" | "HEAD":
            return Verb.GET if name else Verb.LIST
        case "POST":
            return Verb.CREATE
        case "PUT":
            return Verb.UPDATE
        case "PATCH":
            return Verb.PATCH
        case "DELETE":
            return Verb.DELETE if name else Verb.DELETE_COLLECTION
    raise no_method()


def _options(verb: Verb, query: Mapping[str, str], headers: Mapping[str, str]) -> ListOptions:
    if verb is Verb.GET:  # one object: of the options of lists, only the version and the form of Tables count
        if queries.boolean(query, "export"):
            raise BadRequest("the export parameter, deprecated since v1.14, is no longer supported")
        version = query.get("resourceVersion", "")
        return ListOptions(resource_version=version, include_object=query.get("includeObject", ""))
    if verb not in _READS:
        return ListOptions(include_object=query.get("includeObject", ""))
    bookmarks = queries.boolean(query, "allowWatchBookmarks")
    return ListOptions(
        label_selector=query.get("labelSelector", ""),
        field_selector=query.get("fieldSelector", ""),
        limit=max(queries.integer(query, "limit") or 0, 0),
        continue_token=query.get("continue", ""),
        resource_version=query.get("resourceVersion", ""),
        resource_version_match=query.get("resourceVersionMatch", ""),
        timeout_seconds=queries.integer(query, "timeoutSeconds"),
        allow_watch_bookmarks=bookmarks,
        include_object=query.get("includeObject", ""),
        send_initial_events=queries.boolean(query, "sendInitialEvents") if "sendInitialEvents" in query else None,
        frequent_bookmarks=not bookmarks or headers.get("prefer", "") == FREQUENT_BOOKMARKS,
    )


def _write_options(query: Mapping[str, str], dry_run: list[str]) -> WriteOptions:
    return WriteOptions(
        dry_run=bool(dry_run),
        field_manager=query.get("fieldManager", ""),
        field_validation=query.get("fieldValidation", ""),
        force=queries.boolean(query, "force") if "force" in query else None,
        causes=tuple(_dry_run_causes(dry_run)),
    )


class _Preconditions(msgspec.Struct, rename="camel"):
    uid: str | None = None
    resource_version: str | None = None


class _DeleteOptions(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    dry_run: list[str] | None = None
    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    preconditions: _Preconditions | None = None


def _delete_options(query: Mapping[str, str], dry_run: list[str], body: bytes, media: str) -> DeleteOptions:
    """From the body, or from the query if there is no body."""
    if body:
        options = _read_delete_options(body, media)
        if options.kind not in ("", "DeleteOptions"):
            kind, version = options.kind[:100], options.api_version[:100]
            raise BadRequest(
                f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
            )
    else:
        options = _DeleteOptions(
            dry_run=dry_run,
            grace_period_seconds=queries.integer(query, "gracePeriodSeconds"),
            propagation_policy=query.get("propagationPolicy"),
            orphan_dependents=queries.boolean(query, "orphanDependents") if "orphanDependents" in query else None,
            preconditions=_Preconditions(query.get("uid"), query.get("resourceVersion")),
        )
    return _checked_delete_options(options)


def _read_delete_options(body: bytes, media: str) -> _DeleteOptions:
    try:
        if not media:
            return msgspec.json.decode(body, type=_DeleteOptions | None) or _DeleteOptions()
        if media == PROTOBUF:
            from pilotage.types import protobuf  # the tables of messages

            document = protobuf.decode(protobuf.unwrap(body, _DELETE_OPTIONS))
        elif media == YAML:
            from pilotage.meta.text import yamltext  # imported on use: few bodies are protobuf

            document = yamltext.read(body)
        else:
            accepted = f"{JSON}, {YAML}, {PROTOBUF}"
            raise UnsupportedMediaType(
                f"the body of the request was in an unknown format - accepted media types include: {accepted}"
            )
        return msgspec.convert(document, _DeleteOptions)
    except DecodeError as error:
        raise BadRequest(str(error)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        if not media and (problem := gojson.syntax_error(body)):
            raise BadRequest(f"couldn't get version/kind; json parse error: {problem}") from None
        raise BadRequest(
            f"the body of the delete request is not a DeleteOptions document: {reason_of(error)}"
        ) from None


def _checked_delete_options(options: _DeleteOptions) -> DeleteOptions:
    policy = options.propagation_policy
    causes: list[Cause] = []
    if policy is not None and options.orphan_dependents is not None:
        causes.append(
            invalid("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set")
        )
    if policy is not None and policy not in PROPAGATION_POLICIES:
        causes.append(not_supported("propagationPolicy", policy, [*PROPAGATION_POLICIES, "nil"]))
    preconditions = options.preconditions or _Preconditions()
    return DeleteOptions(
        dry_run=bool(options.dry_run),
        grace_period_seconds=options.grace_period_seconds,
        propagation_policy=policy or "",
        orphan_dependents=options.orphan_dependents,
        uid=preconditions.uid,
        resource_version=preconditions.resource_version,
        causes=(*causes, *_dry_run_causes(options.dry_run or [])),
    )


def _dry_run_causes(values: list[str]) -> list[Cause]:
    if all(value == "All" for value in values):
        return []
    message = f'Unsupported value: {shown(values, whole=True)}: supported values: "All"'
    return [Cause("FieldValueNotSupported", message, "dryRun")]


def _boolean_text(value: bool) -> str:
    return "true" if value else "false"


def _media(content_type: str, verb: Verb) -> str:
    """The media type of a body, as kube-apiserver reads the header: of a patch it compares the text."""
    media, _, parameters = content_type.partition(";")
    if verb is Verb.PATCH and media:
        return media
    media = media.strip().lower()
    if not media or not _PARAMETERS.fullmatch(parameters):
        return content_type.strip()  # a header that names no media type is not a missing one
    return "" if media == JSON else media
