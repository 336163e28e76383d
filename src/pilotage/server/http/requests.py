"""Requests for resources: parsed and resolved, with kube-apiserver's answers to methods and paths that do not fit."""

from __future__ import annotations

from dataclasses import replace

from pilotage.errors import MethodNotSupported
from pilotage.http import messages as http
from pilotage.rest import path
from pilotage.rest.request import Request, User
from pilotage.server import routes
from pilotage.server.registry import Registry
from pilotage.server.resources import ResourceInfo


def serves_any_method(route: str) -> bool:
    """Whether the document of a path is the answer to every method, as in kube-apiserver; others are for GET alone."""
    parts = route.strip("/").split("/")
    return parts[0] in ("", "openapi") or (parts[0] == "apis" and len(parts) < 3)


async def resolve(registry: Registry, incoming: http.Request, user: User) -> tuple[Request, ResourceInfo]:
    """The request value of an HTTP request, and what it is about. Raises ApiError."""
    received = path.HTTPRequest(incoming.method, incoming.target, tuple(incoming.headers), incoming.body)
    try:
        request = replace(path.parse(received), user=user)
    except MethodNotSupported:
        raise await _no_method(registry, received, user) from None
    subresource, _, more = request.subresource.partition("/")
    if more:
        request = replace(request, subresource=subresource)
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
