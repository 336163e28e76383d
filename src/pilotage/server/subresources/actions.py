"""Requests to subresources that are actions or connections: each goes to the part that answers it."""

from __future__ import annotations

from dataclasses import replace

from pilotage.errors import BadRequest
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.rest.request import Request
from pilotage.rest.response import Response
from pilotage.server.catalogue import body_info
from pilotage.server.context import RegistryContext
from pilotage.server.resources import ResourceInfo
from pilotage.server.subresources.connections import Connections
from pilotage.server.subresources.evictions import Evictions
from pilotage.server.subresources.scheduling import Scheduling
from pilotage.server.subresources.table import BINDINGS, action_of
from pilotage.server.subresources.tokenrequests import TokenRequests
from pilotage.server.verbs import bodies

SUCCESS = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}'
_PODS = GroupVersionResource("", "v1", "pods")
_BODIES = {
    "binding": GroupVersionKind("", "v1", "Binding"),
    "eviction": GroupVersionKind("policy", "v1", "Eviction"),
    "token": GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest"),
}


class Actions:
    """Answers requests to actions."""

    def __init__(self, context: RegistryContext) -> None:
        self._context = context
        self._connections = Connections(context)
        self._evictions = Evictions(context)
        self._scheduling = Scheduling(context)
        self._tokens = TokenRequests(context)

    async def call(self, info: ResourceInfo, request: Request) -> Response:
        """Answer a request whose path and verb have been checked."""
        if info.gvr == BINDINGS:
            return await self._create_binding(request)
        action = action_of(request)
        if action not in _BODIES:
            return await self._connections.open(info, request, action)
        bodies.check_options(request)
        document = _read(request, _BODIES[action])
        match action:
            case "token":
                return await self._tokens.create(info, request, document)
            case "binding":
                _check_name(request, document, "Binding")
                await self._scheduling.bind(info, request, document)
            case "eviction":
                _check_name(request, document, "Eviction")
                await self._evictions.evict(info, request, document)
        return Response(SUCCESS, 201)

    async def _create_binding(self, request: Request) -> Response:
        """The older form of `pods/binding`: the Pod has the name of the binding."""
        bodies.check_options(request)
        document = _read(request, _BODIES["binding"])
        pods = await self._context.catalogue.find(_PODS)
        named = replace(request, resource=_PODS, name=document["metadata"].get("name", ""))
        await self._scheduling.bind(pods, named, document)
        return Response(SUCCESS, 201)


def _read(request: Request, kind: GroupVersionKind) -> Document:
    info = body_info(kind)
    document, problems = bodies.read(request, info)
    problems.report(request, info)
    return document


def _check_name(request: Request, document: Document, kind: str) -> None:
    name = document["metadata"].get("name", "")
    if name and name != request.name:
        raise BadRequest(f"name in URL does not match name in {kind} object")
