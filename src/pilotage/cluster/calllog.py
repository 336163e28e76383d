"""Debug lines of the calls to an API server: writes at DEBUG, reads at V(6), where client-go logs requests."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pilotage.errors import DecodeError
from pilotage.meta import objects
from pilotage.meta.objects import Header
from pilotage.rest import APIRequest, Page, Response, Verb
from pilotage.telemetry.logs import logger

T = TypeVar("T", Response, Page)

log = logger("pilotage.client")
_reads = log.v(6)
_READS = (Verb.GET, Verb.LIST)


async def logged(send: Callable[[APIRequest], Awaitable[T]], request: APIRequest) -> T:
    """Send a request, and log it with its outcome. Only called where `log.shows_debug()`."""
    begun = time.perf_counter()
    try:
        answer = await send(request)
    except BaseException as error:
        _log(request, begun, f"{type(error).__name__}: {error}".removesuffix(": "))
        raise
    _log(request, begun, "ok", answer)
    return answer


def _log(request: APIRequest, begun: float, result: str, answer: Response | Page | None = None) -> None:
    """The object is one field: `namespace` and `name` identify the object that is reconciled."""
    is_read = request.verb in _READS
    if is_read and not _reads.enabled:
        return
    resource, stored = request.resource.resource, _header(answer)
    fields: dict[str, object] = {
        "verb": request.verb.value,
        "resource": f"{resource}/{request.subresource}" if request.subresource else resource,
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
    """The header of the object in an answer; empty where the answer has no object."""
    try:
        return objects.header(answer.body) if isinstance(answer, Response) else Header()
    except DecodeError:
        return Header()
