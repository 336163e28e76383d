"""Fenced writes: for programs that may write only while they lead.

Code that runs only in a leader runs inside `fenced(…)`: every write that it starts, through any client of any cluster,
and every write of the tasks and threads that it starts, carries the fence. A client of `Client.with_fences` adds fences
to its writes wherever it is called. The transport of the cluster is the one place that checks them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec.structs import replace

from pilotage.rest import APIRequest, Fence, Transport, TransportWrapper
from pilotage.rest.fence import check_all
from pilotage.rest.request import READS

# A context variable, because a client does not know its caller: a leader's reconciler and code that runs in every
# replica may use one client, and only the writes of the first depend on the lease.
_CURRENT: ContextVar[tuple[Fence, ...]] = ContextVar("fences", default=())


def current_fences() -> tuple[Fence, ...]:
    """The fences of the running code."""
    return _CURRENT.get()


@contextmanager
def fenced(fence: Fence) -> Iterator[None]:
    """Add a fence to all writes that are started in the block, and by tasks that are started in it."""
    token = _CURRENT.set((*_CURRENT.get(), fence))
    try:
        yield
    finally:
        _CURRENT.reset(token)


class FencedTransport(TransportWrapper):
    """Checks the fences of each write: the fences of its client, and the fences of the running code. If one of them
    refuses it, the caller gets the error and nothing is sent."""

    def __init__(self, inner: Transport, server: object) -> None:
        """`server` identifies the API server: a lease that it does not have is checked here, but not sent to it."""
        super().__init__(inner)
        self._server = server

    def prepare(self, request: APIRequest) -> APIRequest:
        if request.verb in READS or not (fences := (*request.fences, *_CURRENT.get())):
            return request
        check_all(fences)
        return replace(request, fences=tuple(dict.fromkeys(fence.toward(self._server) for fence in fences)))
