"""Fenced writes: for programs that may write only while they lead.

Code that runs only in a leader runs inside `fenced(…)`: every write that it starts, through any client of any cluster,
and every write of the tasks and threads that it starts, carries the fence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec.structs import replace

from pilotage.rest import APIRequest, Fence, Transport, TransportWrapper, Verb
from pilotage.rest.fence import check_all

Fences = Callable[[], tuple[Fence, ...]]

# A context variable, because a client does not know its caller: a leader's reconciler and code that runs in every
# replica may use one client, and only the writes of the first depend on the lease.
_CURRENT: ContextVar[tuple[Fence, ...]] = ContextVar("fences", default=())
_READS = (Verb.GET, Verb.LIST, Verb.WATCH)


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
    """Adds fences to each write. If one of them refuses it, the caller gets the error and nothing is sent."""

    def __init__(self, inner: Transport, server: object, fences: Fences = current_fences) -> None:
        """`server` identifies the API server: a lease that it does not have is checked here, but not sent to it."""
        super().__init__(inner)
        self._server = server
        self._fences = fences

    def prepare(self, request: APIRequest) -> APIRequest:
        if request.verb in _READS or not (fences := self._fences()):
            return request
        check_all(fences)
        more = tuple(fence for fence in fences if fence not in request.fences)
        return replace(request, fences=(*request.fences, *(fence.toward(self._server) for fence in more)))
