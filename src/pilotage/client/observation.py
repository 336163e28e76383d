"""The calls of a client as traces and debug lines show them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from pilotage.errors import DecodeError
from pilotage.meta import objects
from pilotage.meta.objects import Header
from pilotage.rest import APIRequest, Page, Response, Verb
from pilotage.telemetry import tracing
from pilotage.telemetry.logs import logger

T = TypeVar("T", Response, Page)

log = logger("pilotage.client")
_reads = log.v(6)  # as client-go, which logs each request there
_UNTRACED = nullcontext()
_READS = (Verb.GET, Verb.LIST)


def is_observed() -> bool:
    """Whether anything shows calls."""
    return tracing.active() is not None or log.shows_debug


async def observed(send: Callable[[APIRequest], Awaitable[T]], request: APIRequest) -> T:
    """Send a request in a span of its own, and log it: a write at DEBUG, a read at V(6)."""
    begun = time.perf_counter()
    try:
        with _traced(request):
            answer = await send(request)
    except BaseException as error:
        _log(request, begun, f"{type(error).__name__}: {error}".removesuffix(": "))
        raise
    _log(request, begun, "ok", answer)
    return answer


def _log(request: APIRequest, begun: float, result: str, answer: Response | Page | None = None) -> None:
    """Log a call. The object is one field: `namespace` and `name` are those of the object that is reconciled."""
    is_read = request.verb in _READS
    if not (_reads.enabled if is_read else log.shows_debug):
        return
    stored = _header(answer)
    fields: dict[str, object] = {
        "verb": request.verb.value,
        "resource": _resource(request),
        "object": "/".join(part for part in (request.namespace, request.name or stored.name) if part),
        "result": result,
        "seconds": round(time.perf_counter() - begun, 6),
    }
    if stored.resource_version:
        fields["resourceVersion"] = stored.resource_version
    if request.write.dry_run or request.delete.dry_run:
        fields["dryRun"] = True
    if is_read:
        _reads.info("Read", **fields)
    else:
        log.debug("Write", **fields)


def _header(answer: Response | Page | None) -> Header:
    """The header of the object in an answer; empty where it has none."""
    try:
        return objects.header(answer.body) if isinstance(answer, Response) else Header()
    except DecodeError:
        return Header()


def _resource(request: APIRequest) -> str:
    resource = request.resource
    return f"{resource.resource}/{request.subresource}" if request.subresource else resource.resource


def _traced(request: APIRequest) -> AbstractContextManager[object]:
    """A span around a call to the API server, if tracing is on."""
    traces = tracing.active()
    if traces is None:
        return _UNTRACED
    resource = request.resource
    attributes: dict[str, str | int | bool | list[str]] = {
        "k8s.verb": request.verb.value,
        "k8s.group": resource.group,
        "k8s.version": resource.version,
        "k8s.resource": resource.resource,
        "k8s.subresource": request.subresource,
        "k8s.namespace.name": request.namespace,
        "k8s.object.name": request.name,
    }
    found = {key: value for key, value in attributes.items() if value}
    return traces.span(f"{request.verb.value} {_resource(request)}", found, client=True)
