"""Requests for resources: parsed and resolved, with kube-apiserver's answers to methods and paths that do not fit."""

from __future__ import annotations

from msgspec.structs import replace

from pilotage.errors import MethodNotSupported, NotFound
from pilotage.http import messages as http
from pilotage.rest import path
from pilotage.rest.request import Request, User
from pilotage.server import routes
from pilotage.server.access.rules import AccessAttributes
from pilotage.server.registry import Registry
from pilotage.server.resources import ResourceInfo

_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_COLLECTION_VERBS = {"get": "list", "delete": "deletecollection"}


def serves_any_method(route: str) -> bool:
    """Whether the document of a path is the answer to every method, as in kube-apiserver; others are for GET alone."""
    parts = route.strip("/").split("/")
    return parts[0] in ("", "openapi") or (parts[0] == "apis" and len(parts) < 3)


def attributes_of_path(incoming: http.Request, user: User) -> AccessAttributes:
    """What a request does, as its method and path say it: a verb on a resource, or a method on another path."""
    route = incoming.target.partition("?")[0]
    try:
        (group, _, resource), namespace, name, rest = path.split(route)
    except NotFound:
        return AccessAttributes(user, incoming.method.lower(), path=route)
    verb = _VERBS.get(incoming.method, incoming.method.lower())
    if not name:
        verb = _COLLECTION_VERBS.get(verb, verb)
    subresource = rest.partition("/")[0]
    return AccessAttributes(user, verb, group, resource, subresource, name, namespace)


async def resolve(registry: Registry, incoming: http.Request, user: User) -> tuple[Request, ResourceInfo]:
    """The request value of an HTTP request, and what it is about. Raises ApiError."""
    received = path.HTTPRequest(incoming.method, incoming.target, tuple(incoming.headers), incoming.body)
    try:
        request = replace(path.parse(received), user=user)
    except MethodNotSupported:
        raise await _no_method(registry, received, user) from None
    subresource, _, more = request.subresource.partition("/")
    if more:
        parameters = {"path": f"/{more}"} if subresource == "proxy" else request.parameters
        request = replace(request, subresource=subresource, parameters=parameters)
    info = await registry.describe(request)
    if more and not info.custom and subresource != "proxy":  # of a custom resource, the rest of the path is ignored
        raise routes.no_resource()
    if incoming.method == "HEAD" and not info.custom:
        raise routes.no_method()
    return request, info


async def _no_method(registry: Registry, received: path.HTTPRequest, user: User) -> MethodNotSupported:
    """The 405 for a method that no resource has. Raises NotFound where the path leads nowhere."""
    route = received.target.partition("?")[0]
    info = await registry.describe(replace(path.parse(path.HTTPRequest("DELETE", route)), user=user))
    return routes.no_verb(info, "") if info.custom else routes.no_method()
