"""The documents of a server that are not about an object: version, discovery, OpenAPI."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import msgspec

from pilotage.http import messages as http
from pilotage.meta.kinds import GroupVersion
from pilotage.rest import negotiation, query
from pilotage.server.catalogue import routes
from pilotage.server.http import discovery
from pilotage.server.http.formats import check_produced, format_of_document
from pilotage.server.http.rendering import write
from pilotage.server.offload import offload
from pilotage.server.openapi import documents as openapi
from pilotage.server.openapi import protobuf
from pilotage.server.registry import Registry
from pilotage.server.resources import ResourceInfo

_JSON_MEDIA = "application/json"
JSON = ("content-type", _JSON_MEDIA)
_NO_CACHE = ("cache-control", "no-cache, private")
_YEAR = timedelta(days=365)
_V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2"
_V3_PROTOBUF = "application/com.github.proto-openapi.spec.v3"
_WHOLE = 1024 * 1024
"""Bytes of a document about everything, roughly."""
_NOTHING = http.HTTPResponse(404, [], b"")
_PATHS = ("/metrics", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version")


class DocumentHandler:
    """Answers GET requests for these documents."""

    def __init__(self, registry: Registry, version: dict[str, str], paths: Sequence[str] = ()) -> None:
        self._registry = registry
        self._version = version  # read once: there may be no file descriptor for it later
        self._other_paths = paths

    async def find(self, route: str, incoming: http.HTTPRequest) -> http.HTTPResponse | None:
        """The document of a path; None if the path is not one of these."""
        if route.startswith("//"):
            return None
        headers = incoming.headers
        parts = route.strip("/").split("/")
        match parts:
            case ["version"]:
                check_produced(headers.get("accept"), (_JSON_MEDIA,))
                return _indented(self._version)
            case ["" | "index.html"]:
                return await self._paths()
            case ["api" | "apis", *_] if len(parts) <= 3:
                return await self._discovery(parts, headers)
            case ["openapi", *_]:
                if incoming.target.partition("?")[0].endswith("/"):
                    return _NOTHING if parts[1:2] == ["v3"] else None
                return await self._openapi(parts, incoming)
        return None

    async def _paths(self) -> http.HTTPResponse:
        found = {"/api", "/apis", "/apis/", *_PATHS, *self._other_paths}
        for mapping in await self._registry.resources():
            group, version, _ = mapping.resource
            found |= {f"/apis/{group}", f"/apis/{group}/{version}"} if group else {f"/api/{version}"}
        return _indented({"paths": sorted(found)})

    async def _discovery(self, parts: list[str], headers: http.Headers) -> http.HTTPResponse | None:
        accept = headers.get("accept")
        mappings = await self._registry.resources()
        if parts in (["api"], ["apis"]) and (media := negotiation.aggregated_discovery(accept)):
            whole = msgspec.json.encode(discovery.aggregated(mappings, core=parts == ["api"]))
            described = ("content-type", media + negotiation.AGGREGATION)
            answer = [described, ("cache-control", "public"), ("vary", "Accept")]
            return _tagged(headers, answer, whole if media == negotiation.JSON else write(whole, media))
        found = await self._legacy_discovery(parts, headers)
        if found is not None:
            routed = parts[0] == "api" or (len(parts) == 3 and parts[1] in routes.builtin_groups())
            asked = format_of_document(headers, routed=routed)
            content = write(msgspec.json.encode(found), asked.media, pretty=asked.pretty)
            return http.HTTPResponse(200, [("content-type", asked.media)], content)
        if (parts[0] == "api" and len(parts) == 2) or (len(parts) == 3 and parts[1] in routes.builtin_groups()):
            raise routes.no_resource()
        return None

    async def _legacy_discovery(self, parts: list[str], headers: http.Headers) -> dict[str, Any] | None:
        mappings = await self._registry.resources()
        match parts:
            case ["api"]:
                return discovery.versions(headers.get("host"))
            case ["apis"]:
                return discovery.groups(mappings)
            case ["apis", group]:
                return discovery.group(mappings, group)
            case ["api", version]:
                return discovery.resources(mappings, GroupVersion("", version))
            case ["apis", group, version]:
                stored = {info.gvr: info.stored.gvk for info in await self._registry.custom_resources()}
                return discovery.resources(mappings, GroupVersion(group, version), stored)
        return None

    async def _openapi(self, parts: list[str], incoming: http.HTTPRequest) -> http.HTTPResponse | None:
        headers = incoming.headers
        custom, kinds = await self._registry.custom_resources(), self._registry.context.kinds
        match parts[1:]:
            case ["v2"]:
                return await self._version_2(custom, headers)
            case ["v3"]:
                text = ("content-type", "text/plain; charset=utf-8")  # as kube-apiserver, which sets none
                return http.HTTPResponse(200, [text], msgspec.json.encode(openapi.index(custom, kinds)))
            case ["v3", "api", version]:
                found = await offload(_size(custom), openapi.document, custom, GroupVersion("", version), kinds)
            case ["v3", "apis", group, version]:
                found = await offload(_size(custom), openapi.document, custom, GroupVersion(group, version), kinds)
            case ["v3", *rest]:
                found = openapi.root_document("/".join(rest), kinds)
            case _:
                return None
        if found is None:
            return _NOTHING
        content, digest = found
        if not _takes_version_3(headers.get("accept")):
            return http.HTTPResponse(406, [("vary", "Accept")], b"")
        wanted_digest = query.parse(incoming.target.partition("?")[2]).get("hash")
        if wanted_digest is None:
            return _tagged(headers, [JSON, _NO_CACHE, ("vary", "Accept")], content, digest)
        if wanted_digest != digest:  # an older version: the client is sent to the one that is served now
            place = ("location", f"/{'/'.join(parts)}?hash={digest}")
            return http.HTTPResponse(301, [JSON, _NO_CACHE, ("etag", f'"{digest}"'), place, ("vary", "Accept")], b"")
        expires = format_datetime(self._registry.context.clock() + _YEAR, usegmt=True)
        cached = [("cache-control", "public, immutable"), ("expires", expires)]
        return _tagged(headers, [JSON, *cached, ("vary", "Accept")], content, digest)

    async def _version_2(self, custom: Sequence[ResourceInfo], headers: http.Headers) -> http.HTTPResponse:
        varies = [("vary", "Accept-Encoding"), ("vary", "Accept")]
        media = _version_2_media(headers.get("accept"))
        if not media:
            return http.HTTPResponse(406, varies, b"")
        write = openapi.version_2_protobuf if media == protobuf.MEDIA else openapi.version_2_json
        content = await offload(_WHOLE, write, custom, self._registry.context.kinds)
        return _tagged(headers, [("content-type", media), _NO_CACHE, *varies], content)


def _version_2_media(accept: str) -> str:
    """The media type of the answer, or an empty text if a client takes none of them."""
    for clause in negotiation.clauses(accept):
        if clause.media.startswith(_V2_PROTOBUF):
            return protobuf.MEDIA
        if clause.media in (_JSON_MEDIA, "*/*", "application/*"):
            return _JSON_MEDIA
    return "" if accept.strip() else _JSON_MEDIA


def _takes_version_3(accept: str) -> bool:
    """Whether a client accepts JSON; a client that accepts only protobuf gets JSON, too."""
    media = [clause.media for clause in negotiation.clauses(accept)]
    return not media or any(each in (_JSON_MEDIA, "*/*", "application/*") or _V3_PROTOBUF in each for each in media)


def _size(custom: Sequence[ResourceInfo]) -> int:
    """How much there is to write, for the decision whether it is done in a thread."""
    return sum(info.definition_bytes for info in custom) + 65536


def _indented(document: dict[str, Any]) -> http.HTTPResponse:
    """The documents that kube-apiserver writes for people."""
    return http.HTTPResponse(200, [JSON], msgspec.json.format(msgspec.json.encode(document), indent=2))


def _tagged(
    headers: http.Headers, answer: list[tuple[str, str]], content: bytes, digest: str = ""
) -> http.HTTPResponse:
    """An answer with an ETag; 304 without the content for a client that has it."""
    tag = f'"{digest or hashlib.sha512(content).hexdigest().upper()}"'
    answer.append(("etag", tag))
    known = [each.strip().removeprefix("W/") for each in headers.get("if-none-match").split(",")]
    if tag not in known:
        return http.HTTPResponse(200, answer, content)
    return http.HTTPResponse(304, [header for header in answer if header[0] != "content-type"], b"")
