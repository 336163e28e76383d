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
from pilotage.meta.selectors.selectors import Selector
from pilotage.meta.typevars import TypeVar
from pilotage.types.apps.v1 import DaemonSet, Deployment, ReplicaSet, StatefulSet
from pilotage.workloads.pods.claims import controller_uid
from pilotage.workloads.pods.source import PodHandler, Requests
from pilotage.workloads.pods.view import PodView

R = TypeVar("R", bound=Resource)
SelectorOf = Callable[[R], Selector]


def selector_of(owner: DaemonSet | Deployment | ReplicaSet | StatefulSet) -> Selector:
    """The selector of an object, in the way of most kinds."""
    return Selector.from_label_selector(owner.spec.selector)


def adopters(cache: Cache, kind: KindOf[R], selector_of: SelectorOf[R]) -> Handler[Any]:
    """A handler of objects other than Pods: the objects of a kind that select one without a controller, when it is new,
    or its labels or its controller have changed. An object that is deleted, or that has a controller, concerns only
    this controller."""

    def handle(event: Event[Any]) -> Iterable[Request] | Awaitable[Iterable[Request]]:
        new, old = event.new_header, event.old_header
        if new is None or new.deletion_timestamp is not None or controller_uid(new):
            return ()
        if old is not None and old.labels == new.labels and not controller_uid(old):
            return ()
        return _selecting(cache, kind, selector_of, new.namespace, new.labels)

    return handle


def adopters_of_pods(cache: Cache, kind: KindOf[R], selector_of: SelectorOf[R]) -> PodHandler:
    """The same for Pods."""

    def handle(before: PodView | None, after: PodView | None) -> Requests | Awaitable[Requests]:
        if after is None or after.controller_uid or after.deleted is not None:
            return ()
        if before is not None and not before.controller_uid and before.labels == after.labels:
            return ()
        return _selecting(cache, kind, selector_of, after.namespace, after.labels)

    return handle


async def _selecting(
    cache: Cache, kind: KindOf[R], selector_of: SelectorOf[R], namespace: str, labels: Mapping[str, str]
) -> list[Request]:
    """The objects of a namespace that select these labels. An empty selector selects nothing."""
    found = await cache.list(kind, namespace=namespace)
    return [Request.of(obj) for obj in found if (selector := selector_of(obj)) and selector.matches(labels)]
