"""Handlers map an event to requests. A handler is a function from an Event to requests.

Equal requests are deduplicated. A handler may be async (to read from the cache, for example); one that fails is retried
with growing delays, so that the event is not lost.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from pilotage.controller.event import Event
from pilotage.controller.request import Enqueue, Request
from pilotage.errors import NoMatch
from pilotage.meta.forms import Kind, gvk_of
from pilotage.meta.kinds import GroupKind, GroupVersion
from pilotage.meta.mapping.mapper import RESTMapper
from pilotage.meta.models import OwnerReference
from pilotage.meta.objects import Header
from pilotage.meta.typevars import T

Requests = Iterable[Request | Enqueue]
Handler: TypeAlias = Callable[[Event[T]], Requests | Awaitable[Requests]]
"""A handler of events about objects of one type; `Handler` alone takes events about any object."""


def enqueue_request_for_object(event: Event) -> Requests:
    """The object itself."""
    name = event.name
    return (Request(name, event.namespace),) if name else ()


def enqueue_request_for_owner(
    owner: Kind, *, only_controller: bool = False, rest_mapper: RESTMapper | None = None
) -> Handler:
    """The owners of a kind: all of them, or with `only_controller` just the one that controls the object.

    Owners are matched by group and kind, whatever version their references name. On an update both the old and the new
    owners are reconciled. `rest_mapper` is asked whether a kind that is given without its class has a namespace.
    """
    return OwnerRequests(gvk_of(owner).group_kind, only_controller, _scope(owner, rest_mapper))


@dataclass(frozen=True, slots=True)
class OwnerRequests:
    """The handler of `enqueue_request_for_owner`."""

    owner: GroupKind
    only_controller: bool
    is_namespaced: Callable[[], bool]

    def __call__(self, event: Event) -> Requests:
        found: dict[Request, None] = {}
        for header in (event.old_header, event.new_header):
            for reference in _owners(header, self.only_controller):
                if _group_kind(reference) == self.owner and header is not None:
                    found[Request(reference.name, header.namespace if self.is_namespaced() else "")] = None
        return found


def mapping_basis(handler: Handler, header: Header) -> str:
    """The part of an object, beside its name, on which the requests of its events depend; as long as this text is the
    same, the handler returns the same requests."""
    if handler is enqueue_request_for_object:
        return ""
    if isinstance(handler, OwnerRequests):
        return " ".join(sorted(reference.uid for reference in _owners(header, handler.only_controller)))
    return header.resource_version  # a function of the program may read any field


def enqueue_requests_from(function: Callable[[T], Requests | Awaitable[Requests]]) -> Handler[T]:
    """The requests that the function, async or not, returns for the object; on an update, for the old and the new one.

    For an object that concerns no request it returns an empty list.
    """

    def requests(event: Event[T]) -> Requests | Awaitable[Requests]:
        objects = [obj for obj in (event.old, event.object) if obj is not None]
        if event.type != "update":
            objects = objects[-1:]
        if inspect.iscoroutinefunction(function):
            return _awaited(function, objects)
        found = [function(obj) for obj in objects]
        if any(inspect.isawaitable(part) for part in found):
            return _gathered(found)
        return [request for part in found for request in listed(part)]

    requests.__qualname__ = getattr(function, "__qualname__", requests.__qualname__)  # what people know it by
    return requests


async def _awaited(function: Callable[[Any], Awaitable[Requests]], objects: list[Any]) -> Requests:
    return [request for obj in objects for request in listed(await function(obj))]


async def _gathered(parts: list[Requests | Awaitable[Requests]]) -> Requests:
    found: list[Request | Enqueue] = []
    for part in parts:
        found += listed(await part if inspect.isawaitable(part) else part)
    return found


def listed(requests: object) -> list[Request | Enqueue]:
    """What a function of the program returned for an event, which must be requests. Raises TypeError."""
    try:
        found: Iterator[Request | Enqueue] = iter(requests)  # type: ignore[call-overload]  # a value of user code
    except TypeError:
        raise TypeError(
            f"a handler must return a list of requests (an empty one for none), not {type(requests).__name__}"
        ) from None
    return list(found)  # outside of the block: a generator of the program has errors of its own


def _owners(header: Header | None, only_controller: bool) -> list[OwnerReference]:
    if header is None:
        return []
    if not only_controller:
        return header.owner_references
    return [reference for reference in header.owner_references if reference.controller][:1]


def _group_kind(reference: OwnerReference) -> GroupKind | None:
    try:
        return GroupKind(GroupVersion.parse(reference.api_version).group, reference.kind)
    except ValueError:  # a malformed owner reference has no owner
        return None


def _scope(owner: Kind, rest_mapper: RESTMapper | None) -> Callable[[], bool]:
    """Whether owners have a namespace. Looked up for each event: the kind may not be served yet at the start."""
    info: Any = getattr(owner, "__resource__", None)
    if info is not None:
        namespaced: bool = info.namespaced
        return lambda: namespaced
    gvk = gvk_of(owner)

    def is_namespaced() -> bool:
        try:
            return rest_mapper is None or rest_mapper.rest_mapping(gvk).namespaced
        except NoMatch:
            return True

    return is_namespaced
