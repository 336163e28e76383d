"""Why the requests of a queue wait: the chain of writes that led to each, and its events as text.

Texts are kept only while traces or debug lines show them.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from pilotage.cluster import chains
from pilotage.controller.event import Event
from pilotage.controller.request import Request
from pilotage.errors import DecodeError
from pilotage.telemetry import tracing
from pilotage.telemetry.logs import Logger
from pilotage.workqueue import WorkQueue

MAX_REQUESTS = 10_000
"""Requests of one queue whose triggers are kept; those of the oldest are dropped."""
MAX_TRIGGERS = 8
"""Triggers of one request that are kept; further ones are counted."""


class Triggers:
    """The triggers of the requests that wait in one queue."""

    __slots__ = ("_chains", "_texts")

    def __init__(self) -> None:
        self._chains: dict[Request, int] = {}
        self._texts: dict[Request, list[str]] = {}

    def note_chain(self, request: Request, length: int) -> None:
        """Record the chain of the write whose event put a request on the queue; the shortest of several counts."""
        known = self._chains.get(request)
        if known is None:
            self._chains[request] = length
            if len(self._chains) > MAX_REQUESTS:  # those that another replica works on are never taken
                del self._chains[next(iter(self._chains))]
        elif length < known:
            self._chains[request] = length

    def note(self, request: Request, text: str) -> None:
        """Record what put a request on the queue."""
        found = self._texts.get(request)
        if found is None:
            if len(self._texts) >= MAX_REQUESTS:
                del self._texts[next(iter(self._texts))]
            found = self._texts[request] = []
        if len(found) < MAX_TRIGGERS:
            found.append(text)
        elif len(found) == MAX_TRIGGERS:
            found.append("and more")

    def take_chain(self, request: Request) -> int:
        """The length of the chain that led to a request which is being reconciled; 0: it was caused from outside."""
        return self._chains.pop(request, 0)

    def take(self, request: Request) -> list[str]:
        """What put a request on the queue that is being reconciled; empty if that is not known."""
        return self._texts.pop(request, [])


_triggers: WeakKeyDictionary[WorkQueue[Request], Triggers] = WeakKeyDictionary()


def triggers_of(queue: WorkQueue[Request]) -> Triggers:
    """The triggers of a queue. Sources and workers have only the queue in common."""
    return _triggers.setdefault(queue, Triggers())


def chain_of(event: Event) -> int:
    """The length of the chain of writes that the write of an event belongs to."""
    try:
        header = event.header
    except DecodeError:
        return 0  # its request is queued by the name alone
    if header is None:
        return 0
    after = chains.length_after(header.uid, header.resource_version)
    return chains.length_after_delete(header.uid) or after if event.type == "delete" else after


def are_shown(log: Logger) -> bool:
    """Whether triggers are shown as text: in traces, or in the debug lines of `log`."""
    return tracing.active() is not None or log.shows_debug()
