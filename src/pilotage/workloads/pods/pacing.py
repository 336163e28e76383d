"""Fewer reconciles of an object with many Pods: each reads all of them, so the time between two grows with their
number.

Pods that become ready one after another would each cost a reconcile, and ten thousand of them that of a hundred million
Pods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pilotage.controller.event import Event
from pilotage.controller.handlers import Handler, enqueue_request_for_owner
from pilotage.controller.request import Enqueue, Request
from pilotage.meta.forms import Kind
from pilotage.meta.objects import Header
from pilotage.types.core.v1 import Pod
from pilotage.workloads.pods.index import Pods

SECONDS_PER_POD = 2e-5
"""Reading a Pod in a reconcile takes a twentieth of this."""
_LEAST = 0.005
"""With fewer Pods, an event reconciles the object at once."""


def delay(pods: Pods, uid: str) -> float:
    """How long the next reconcile of an object waits for more events."""
    seconds = pods.count_controlled_by(uid) * SECONDS_PER_POD
    return seconds if seconds >= _LEAST else 0.0


def paced_owner(pods: Pods, owner: Kind) -> Handler[Pod]:
    """A handler of Pods: their controller of this kind."""
    requests = enqueue_request_for_owner(owner, only_controller=True)

    def uids(header: Header) -> Iterable[str]:
        return (reference.uid for reference in header.owner_references if reference.controller)

    return _paced(pods, requests, uids)


def paced_object(pods: Pods) -> Handler:
    """A handler of the objects themselves, for events that are not urgent."""

    def requests(event: Event) -> Sequence[Request]:
        return (Request(event.name, event.namespace),)

    return _paced(pods, requests, lambda header: (header.uid,))


def _paced(pods: Pods, requests: Handler, uids: Callable[[Header], Iterable[str]]) -> Handler:
    def handle(event: Event) -> Iterable[Request | Enqueue]:
        found, header = requests(event), event.header
        assert isinstance(found, Iterable)
        seconds = max((delay(pods, uid) for uid in uids(header)), default=0.0) if header is not None else 0.0
        return [Enqueue(one, after=seconds) if isinstance(one, Request) else one for one in found] if seconds else found

    return handle
