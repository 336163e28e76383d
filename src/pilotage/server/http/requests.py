"""Requests for resources: parsed and resolved, with kube-apiserver's answers to invalid methods and paths."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Mapping

from msgspec.structs import replace

from pilotage.errors import BadRequest, MethodNotSupported, NotFound
from pilotage.http import messages as http
from pilotage.meta.scalars.times import Duration
from pilotage.meta.text import gojson
from pilotage.rest import path, query
from pilotage.rest.request import APIRequest, User
from pilotage.server import deadlines
from pilotage.server.access.policyrules import AccessAttributes
from pilotage.server.access.rbac import narrowed
from pilotage.server.catalogue import routes
from pilotage.server.registry import Registry
from pilotage.server.resources import ResourceInfo

_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_PREFIX_ALONE = re.compile(r"/(?:api|apis/[^/]+)/[^/]+/(?:watch|proxy)")
"""A path that ends where the old forms of a watch and of a proxy have a resource."""
_COLLECTION_VERBS = {"get": "list", "delete": "deletecollection"}


def serves_any_method(route: str) -> bool:
    """Whether the document of a path is the answer to every method, as in kube-apiserver; others are for GET alone."""
    parts = route.strip("/").split("/")
    if parts[0] == "apis":
        return len(parts) < 3 or parts[1] not in routes.builtin_groups()
    return parts[0] in ("", "index.html", "openapi")


def problem_of_path(target: str) -> str:
    """Why it cannot be determined what a request is for, before anything else is looked at; empty if it can be."""
    route = target.partition("?")[0].rstrip("/")
    if not route.endswith(("/watch", "/proxy")) or _PREFIX_ALONE.fullmatch(route) is None:
        return ""
    shown = html.escape(target, quote=False)
    reason = f"unable to determine kind and namespace from url, {shown}"
    return f"Internal Server Error: {gojson.quoted(shown)}: failed to create RequestInfo: {reason}\n"


def attributes_of_path(incoming: http.HTTPRequest, user: User) -> AccessAttributes:
    """What a request does, by its method and URL: a verb on a resource, or a method on another path. For a resource
    these are the attributes that the registry authorizes, and that impersonation needs a permission for.
    """
    route, _, text = incoming.target.partition("?")
    listed = path.without_watch(route)
    try:
        (group, _, resource), namespace, name, rest = path.split(listed)
    except NotFound:
        return AccessAttributes(user, incoming.method.lower(), path=route)
    verb = _VERBS.get(incoming.method, incoming.method.lower())
    if not name:
        verb = _COLLECTION_VERBS.get(verb, verb)
    parameters = _parameters(text) if verb == "list" else {}
    if listed != route:
        verb, parameters = "watch", {}  # in this form, a selector does not name what is watched
    elif query.boolean(parameters, "watch"):
        verb = "watch"
    attributes = AccessAttributes(user, verb, group, resource, rest.partition("/")[0], name, namespace)
    return narrowed(attributes, parameters.get("fieldSelector", ""))


def _parameters(text: str) -> Mapping[str, str]:
    try:
        return query.parse(text)
    except BadRequest:
        return {}  # the answer reports the error


def requested_seconds(incoming: http.HTTPRequest) -> float | None:
    """How long the client waits at most, by the parameter `timeout`; None if it is not given. Raises BadRequest."""
    text = incoming.target.partition("?")[2]
    if "timeout=" not in text:
        return None
    parameters = query.parse(text)
    if not (given := parameters.get("timeout")) or query.boolean(parameters, "watch"):
        return None
    try:
        return Duration.parse(given).total_seconds()
    except ValueError:
        problem = "missing unit in" if given.replace(".", "", 1).isdecimal() else "invalid"
        shown = gojson.quoted(given)
        raise BadRequest(f"invalid timeout specified in the request URL - time: {problem} duration {shown}") from None


async def resolve(
    registry: Registry, incoming: http.HTTPRequest, attributes: AccessAttributes, seconds: float | None = None
) -> tuple[APIRequest, ResourceInfo]:
    """The request value of an HTTP request, and what it is about. Raises ApiError.

    `attributes` are what it does, and for which user; `seconds` is how long the client waits at most.
    """
    user = attributes.user
    headers = incoming.headers.derived(dict)
    try:
        request = path.parse_parts(incoming.method, incoming.target, headers, incoming.body, user)
    except MethodNotSupported:
        raise await _no_method(registry, incoming, user) from None
    if seconds is not None:  # else the registry sets a deadline, if the request may have to wait
        deadline = deadlines.of(request.verb, asyncio.get_running_loop().time(), seconds)
        request = replace(request, deadline=deadline)
    subresource, _, more = request.subresource.partition("/")
    if more:
        parameters = {"path": f"/{more}"} if subresource == "proxy" else request.parameters
        request = replace(request, subresource=subresource, parameters=parameters)
    info = await registry.describe(request, attributes)
    if more and not info.custom and subresource != "proxy":  # of a custom resource, the rest of the path is ignored
        raise routes.no_resource()
    if incoming.method == "HEAD" and not info.custom:
        raise routes.no_method()
    return request, info


async def _no_method(registry: Registry, incoming: http.HTTPRequest, user: User) -> MethodNotSupported:
    """The 405 for a method that no resource has. Raises NotFound if the path does not exist."""
    route = incoming.target.partition("?")[0]
    asked = path.parse(path.EncodedRequest("DELETE", route))
    if user.name:
        await registry.context.authorizer.check(attributes_of_path(http.HTTPRequest("", route), user))
    info = await registry.describe(asked)
    return routes.no_verb(info, "") if info.custom else routes.no_method()
