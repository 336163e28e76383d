"""`exec`, `attach`, `portforward`, `log` and `proxy`: admitted, so that webhooks see them, and then refused.

A runtime of containers answers `log`, if there is one.
"""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from pilotage.errors import BadRequest
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.scalars import times
from pilotage.rest.logs import LogOptions
from pilotage.rest.request import APIRequest
from pilotage.rest.response import Response
from pilotage.server import records
from pilotage.server.admission import Operation
from pilotage.server.context import RegistryContext
from pilotage.server.decoding.refusals import with_warnings
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies.strategy import KindStrategy
from pilotage.server.subresources.actions import admit

_KINDS = {
    ("pods", "exec"): "PodExecOptions",
    ("pods", "attach"): "PodAttachOptions",
    ("pods", "portforward"): "PodPortForwardOptions",
    ("pods", "proxy"): "PodProxyOptions",
    ("services", "proxy"): "ServiceProxyOptions",
    ("nodes", "proxy"): "NodeProxyOptions",
}
_TRUE = ("1", "true")
_SWITCHES = ("stdin", "stdout", "stderr", "tty")


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
            options |= {name: True} if value in _TRUE else {}
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
    """Answers requests that a node or the network would have to answer."""

    def __init__(self, context: RegistryContext) -> None:
        self._context = context

    async def call(self, info: ResourceInfo, request: APIRequest) -> Response:
        """Admit the options of a connection."""
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
        """Return a log, or refuse the connection. The log of a Pod that is on no node is empty."""
        name = request.name
        if action == "proxy":
            parts = name.split(":")  # [scheme:]name[:port]
            name = parts[1] if len(parts) == 3 else parts[0]
        entry = await self._context.storage.get(self._context.key(info, request.namespace, name))
        if entry is None:
            raise info.not_found(name)
        document = records.decode(entry.value)
        if action == "log" and not (document.get("spec") or {}).get("nodeName"):
            return Response(b"", 204)
        runtime = next(reversed(self._context.runtimes), None)
        if runtime is not None and action == "log":
            body, stream = runtime.log(document, self._log_options(document, request))
            return Response(body, media="text/plain", stream=stream)
        if runtime is not None and info.gvr.resource == "pods":
            raise BadRequest(f'{action} of pods "{name}": {runtime.no_connections}')
        raise BadRequest(f'{action} of {info.gvr.resource} "{name}": there are no nodes and no network here')

    def _log_options(self, pod: Document, request: APIRequest) -> LogOptions:
        """The options of a log, from the query of its request. Raises BadRequest."""
        given = request.parameters
        tail, seconds, since = given.get("tailLines"), given.get("sinceSeconds"), given.get("sinceTime")
        try:
            begin = times.parse(since) if since else None
            begin = self._context.time() - timedelta(seconds=int(seconds)) if seconds else begin
            lines = int(tail) if tail else None
        except ValueError as error:
            raise BadRequest(f"the options of the log are not valid: {error}") from None
        return LogOptions(
            container=_container(pod, given.get("container", "")),
            follow=given.get("follow") in _TRUE,
            previous=given.get("previous") in _TRUE,
            timestamps=given.get("timestamps") in _TRUE,
            tail_lines=lines,
            since=begin,
        )


def _container(pod: Document, asked: str) -> str:
    """The container whose log is asked for: the only one where none is named, as kube-apiserver chooses it."""
    spec, name = pod["spec"], pod["metadata"]["name"]
    kinds = ("containers", "initContainers", "ephemeralContainers")
    usual, init, ephemeral = ([str(one["name"]) for one in spec.get(kind) or ()] for kind in kinds)
    if not asked:
        if len(usual) == 1:
            return usual[0]
        choice = f"a container name must be specified for pod {name}, choose one of: [{' '.join(usual)}]"
        raise BadRequest(choice + (f" or one of the init containers: [{' '.join(init)}]" if init else ""))
    if asked not in (*usual, *init, *ephemeral):
        raise BadRequest(f"container {asked} is not valid for pod {name}")
    return asked
