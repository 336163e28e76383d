"""Requests for the controllers that may adopt an object that has none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from pilotage.cache.cache import Cache
from pilotage.controller.event import Event
from pilotage.controller.handlers import Handler
from pilotage.controller.request import Request
from pilotage.meta.forms import KindOf
from pilotage.meta.models import Resource
from pilotage.meta.objects import Header
from pilotage.meta.typevars import TypeVar

R = TypeVar("R", bound=Resource)
Selects = Callable[[R, Mapping[str, str]], bool]


def adopters(cache: Cache, kind: KindOf[R], selects: Selects[R]) -> Handler[Any]:
    """A handler of Pods or ReplicaSets: the objects of a kind that select one without a controller.

    It is for an object that is created without one, or whose labels or controller change; objects that are deleted, and
    all others, concern only their controller.
    """

    async def requests(namespace: str, labels: Mapping[str, str]) -> Iterable[Request]:
        found = await cache.list(kind, namespace=namespace)
        return [Request.of(obj) for obj in found if selects(obj, labels)]

    def handle(event: Event[Any]) -> Iterable[Request] | Awaitable[Iterable[Request]]:
        new, old = event.new_header, event.old_header
        if new is None or new.deletion_timestamp is not None or _controller(new):
            return ()
        if old is not None and old.labels == new.labels and not _controller(old):
            return ()
        return requests(new.namespace, new.labels)

    return handle


def _controller(header: Header) -> str:
    return next((owner.uid for owner in header.owner_references if owner.controller), "")
