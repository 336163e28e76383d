"""Dispatches requests to subresources that are actions or connections."""

from __future__ import annotations

from msgspec.structs import replace

from pilotage.errors import BadRequest
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest.request import APIRequest
from pilotage.rest.response import Response
from pilotage.server.admission import Attributes, Operation
from pilotage.server.catalogue.actions import BINDINGS, action_of
from pilotage.server.catalogue.catalogue import body_info
from pilotage.server.context import RegistryContext
from pilotage.server.decoding import bodies
from pilotage.server.decoding.refusals import with_warnings
from pilotage.server.ownership.track import track_create
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies.strategy import Strategy
from pilotage.server.subresources.connections import Connections, connection_kind, connection_options
from pilotage.server.subresources.evictions import Evictions
from pilotage.server.subresources.scheduling import Scheduling
from pilotage.server.subresources.tokenrequests import TokenRequests, default_token_request
from pilotage.server.verbs.identity import set_namespace

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

    async def call(self, info: ResourceInfo, request: APIRequest) -> Response:
        """Answer a request whose path and verb have been checked."""
        if info.gvr == BINDINGS:
            return await self._create_binding(info, request)
        action = action_of(request)
        if action not in _BODIES:
            return await self._connect(info, request, action)
        bodies.check_options(request)
        document = _read(request, _BODIES[action])
        if action == "token":
            default_token_request(document)
        else:
            _check_name(request, document, _BODIES[action].kind)
        warnings = await admit(self._context, info, request, document, body_info(_BODIES[action]))
        with with_warnings(warnings):
            match action:
                case "token":
                    response = await self._tokens.create(info, request, document)
                    return replace(response, warnings=(*response.warnings, *warnings))
                case "binding":
                    await self._scheduling.bind(info, request, document)
                case "eviction":
                    await self._evictions.evict(info, request, document)
        return Response(SUCCESS, 201, warnings)

    async def _connect(self, info: ResourceInfo, request: APIRequest, action: str) -> Response:
        kind = connection_kind(info, action)
        warnings: tuple[str, ...] = ()
        if kind is not None:
            options, body = connection_options(kind, request), _unstored(kind)
            warnings = await admit(self._context, info, request, options, body, Operation.CONNECT)
        with with_warnings(warnings):
            response = await self._connections.open(info, request, action)
        return replace(response, warnings=(*response.warnings, *warnings))

    async def _create_binding(self, info: ResourceInfo, request: APIRequest) -> Response:
        """The older form of `pods/binding`: the Pod has the name of the binding."""
        bodies.check_options(request)
        document = _read(request, _BODIES["binding"])
        if not document["metadata"].get("name"):
            raise BadRequest("Name parameter required.")
        warnings = await admit(self._context, info, request, document, body_info(_BODIES["binding"]))
        pods = await self._context.catalogue.find(_PODS)
        named = replace(request, resource=_PODS, name=document["metadata"].get("name", ""))
        with with_warnings(warnings):
            await self._scheduling.bind(pods, named, document)
        return Response(SUCCESS, 201, warnings)


async def admit(
    context: RegistryContext,
    info: ResourceInfo,
    request: APIRequest,
    document: Document,
    body: ResourceInfo,
    operation: Operation = Operation.CREATE,
) -> tuple[str, ...]:
    """Run admission, which may change or reject the body of an action. Returns the warnings; an error has them, too."""
    admission, warnings = context.chain.of(info.group_resource), list[str]()
    if operation is Operation.CREATE:
        set_namespace(info, request, document["metadata"])
        track_create(body, request, document, now=context.now())
    attributes = Attributes(operation, request, document, None, warnings, info, body)
    with with_warnings(warnings):
        await admission.mutate(attributes)
        await admission.validate(attributes)
    return tuple(warnings)


def _unstored(kind: GroupVersionKind) -> ResourceInfo:
    """The resource info of a kind that only requests have, and that no schema describes."""
    mapping = RESTMapping(gvk=kind, resource=GroupVersionResource(kind.group, kind.version, ""), namespaced=True)
    return ResourceInfo(mapping=mapping, strategy=Strategy(), custom=True)


def _read(request: APIRequest, kind: GroupVersionKind) -> Document:
    info = body_info(kind)
    document, problems = bodies.read(request, info)
    problems.report(request, info)
    return document


def _check_name(request: APIRequest, document: Document, kind: str) -> None:
    name = document["metadata"].get("name", "")
    if name != request.name and (name or kind == "Eviction"):
        raise BadRequest(f"name in URL does not match name in {kind} object")
