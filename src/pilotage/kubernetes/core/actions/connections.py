"""`exec`, `attach`, `portforward`, `log` and `proxy`, answered as by a cluster without kubelets and endpoints."""

from __future__ import annotations

from msgspec.structs import replace

from pilotage.codec import scalars
from pilotage.errors import ApiError, BadRequest, InternalError, NotFound, ServiceUnavailable, Status, StatusDetails
from pilotage.meta.causes import forbidden, invalid, invalid_error
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupKind, GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest.query import integer
from pilotage.rest.request import APIRequest
from pilotage.rest.response import Response
from pilotage.server import records
from pilotage.server.admission import Operation
from pilotage.server.context import RegistryContext
from pilotage.server.decoding.refusals import with_warnings
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies.strategy import KindStrategy
from pilotage.server.subresources.actions import admit

_LOG_LIMITS = {"tailLines": 0, "sinceSeconds": 1, "limitBytes": 1}
_KINDS = {
    ("pods", "exec"): "PodExecOptions",
    ("pods", "attach"): "PodAttachOptions",
    ("pods", "portforward"): "PodPortForwardOptions",
    ("pods", "proxy"): "PodProxyOptions",
    ("services", "proxy"): "ServiceProxyOptions",
    ("nodes", "proxy"): "NodeProxyOptions",
}
_SWITCHES = ("stdin", "stdout", "stderr", "tty")
_SCHEMES = ("", "http", "https")
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")


def connection_kind(info: ResourceInfo, action: str) -> GroupVersionKind | None:
    """The kind of the options of a connection; None for one that is a read, which is not admitted."""
    kind = _KINDS.get((info.gvr.resource, action))
    return GroupVersionKind("", "v1", kind) if kind else None


def connection_options(kind: GroupVersionKind, request: APIRequest) -> Document:
    """The options of a connection, from the query of its request."""
    options: Document = {"kind": kind.kind, "apiVersion": kind.api_version}
    if kind.kind.endswith("ProxyOptions"):
        path = request.parameters.get("path")
        return options | ({"path": path} if path else {})
    for name, value in request.parameters.items():
        if name in _SWITCHES:
            options |= {name: True} if value in ("1", "true") else {}
        elif name == "ports":
            options[name] = [int(port) for port in value.split(",") if port.isdecimal()]
        elif name == "command":
            options[name] = [value]
        elif name == "container":
            options[name] = value
    return options


def _unstored(kind: GroupVersionKind) -> ResourceInfo:
    """The resource info of a kind that only requests have, and that no schema describes."""
    mapping = RESTMapping(gvk=kind, resource=GroupVersionResource(kind.group, kind.version, ""), namespaced=True)
    return ResourceInfo(mapping, *KindStrategy(), custom=True)


class Connections:
    """Answers requests that a node or a service would have to answer."""

    def __init__(self, context: RegistryContext) -> None:
        self._context = context

    async def call(self, info: ResourceInfo, request: APIRequest) -> Response:
        """Admit the options of a connection, and open it."""
        action = request.subresource.partition("/")[0]
        kind = connection_kind(info, action)
        warnings: tuple[str, ...] = ()
        if kind is not None:
            options, body = connection_options(kind, request), _unstored(kind)
            warnings = await admit(self._context, info, request, options, body, Operation.CONNECT)
        with with_warnings(warnings):
            response = await self._open(info, request, action)
        return replace(response, warnings=(*response.warnings, *warnings))

    async def _open(self, info: ResourceInfo, request: APIRequest, action: str) -> Response:
        """The answer to a request for a connection. Raises what a cluster without nodes answers."""
        if action == "proxy":
            return await self._proxy(info, request)
        if action == "log":
            _check_log_options(request)
        pod = await self._object(info, request, request.name)
        if action != "portforward":
            _check_container(pod, request.parameters.get("container", ""))
        node = (pod.get("spec") or {}).get("nodeName")
        if node:
            await self._check_node(node)
        elif action == "log":
            return Response(b"", 204)
        else:
            raise BadRequest(f"pod {request.name} does not have a host assigned")
        raise InternalError(status=Status(500, "", "no preferred addresses found; known addresses: []"))

    async def _check_node(self, name: str) -> None:
        """Raise NotFound for a node that does not exist, which a kube-apiserver reports as a pod."""
        if await self._context.storage.get(f"{self._context.prefix}core/nodes/{name}") is None:
            raise NotFound(f'pods "{name}" not found', details=StatusDetails(name=name, kind="pods"))

    async def _proxy(self, info: ResourceInfo, request: APIRequest) -> Response:
        parts = request.name.split(":")  # [scheme:]name[:port]
        name = parts[1] if len(parts) == 3 else parts[0]
        if len(parts) > 3 or (len(parts) == 3 and parts[0] not in _SCHEMES):
            raise BadRequest(f'invalid {info.mapping.singular} request "{request.name}"')
        found = await self._object(info, request, name)
        resource = info.gvr.resource
        if resource == "pods" and not (found.get("status") or {}).get("podIP"):
            raise BadRequest("address not allowed")
        if resource == "services":
            raise await self._unreachable(info, request, found, parts[-1] if len(parts) > 1 else "")
        if resource == "nodes":
            raise InternalError(status=Status(500, "", "no preferred addresses found; known addresses: []"))
        raise ServiceUnavailable("error trying to reach service: there is no network")

    async def _unreachable(self, info: ResourceInfo, request: APIRequest, service: Document, port: str) -> ApiError:
        """Why a service cannot be reached: it has no such port, no endpoints or no network."""
        name = service["metadata"]["name"]
        ports = [one.get("port") for one in (service.get("spec") or {}).get("ports") or ()]
        if port.isdecimal() and int(port) not in ports:
            return ServiceUnavailable(f'no service port {port} found for service "{name}"')
        entry = await self._context.storage.get(f"{self._context.prefix}core/endpoints/{request.namespace}/{name}")
        if entry is None:
            return info.not_found(name)
        shown = request.name if records.decode(entry.value).get("subsets") else name
        return ServiceUnavailable(f'no endpoints available for service "{shown}"')

    async def _object(self, info: ResourceInfo, request: APIRequest, name: str) -> Document:
        entry = await self._context.storage.get(self._context.key(info, request.namespace, name))
        if entry is None:
            raise info.not_found(name)
        return records.decode(entry.value)


def _check_log_options(request: APIRequest) -> None:
    given = request.parameters
    causes = []
    if given.get("sinceTime"):
        try:
            scalars.time(given["sinceTime"], [])
        except scalars.Mismatch as error:
            raise BadRequest(str(error)) from None
    if "sinceSeconds" in given and "sinceTime" in given:
        causes.append(forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    if "stream" in given:  # needs a feature that is off
        causes.append(forbidden("stream", "may not be specified"))
    for field, least in _LOG_LIMITS.items():
        value = integer(given, field)
        if value is not None and value < least:
            detail = "must be greater than 0" if least else "must be greater than or equal to 0"
            causes.append(invalid(field, value, detail))
    if causes:
        raise invalid_error(GroupKind("", "PodLogOptions"), request.name, causes)


def _check_container(pod: Document, name: str) -> None:
    """Raise BadRequest for a container that a Pod does not have, or if none was named and it has several."""
    spec, pod_name = pod.get("spec") or {}, pod["metadata"]["name"]
    names = {field: [one.get("name", "") for one in spec.get(field) or ()] for field in _CONTAINERS}
    if name:
        if not any(name in found for found in names.values()):
            raise BadRequest(f"container {name} is not valid for pod {pod_name}")
        return
    if len(names["containers"]) == 1:
        return
    message = f"a container name must be specified for pod {pod_name}, choose one of: [{' '.join(names['containers'])}]"
    if names["initContainers"]:
        message += f" or one of the init containers: [{' '.join(names['initContainers'])}]"
    raise BadRequest(message)
