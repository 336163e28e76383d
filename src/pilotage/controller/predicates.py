"""Predicates filter events. A predicate is a function from an Event to a bool; these are ready-made ones.

They reduce what is queued, not what is cached.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, TypeAlias

from pilotage.controller.event import Event
from pilotage.errors import ApiError, InvalidDefinition
from pilotage.meta.objects import Header
from pilotage.meta.selectors.selectors import Selector
from pilotage.meta.typevars import T
from pilotage.telemetry.logs import logger

Predicate: TypeAlias = Callable[[Event[T]], bool]
"""A predicate for events about objects of one type; `Predicate` alone takes events about any object."""

log = logger("pilotage.controller")


def check_predicates(predicates: Iterable[object]) -> None:
    """Raise InvalidDefinition for what is no predicate. What an async function returns is true for every event."""
    for predicate in predicates:
        name = getattr(predicate, "__name__", repr(predicate))
        if not callable(predicate):
            raise InvalidDefinition(f"{name} is not a predicate: give functions from an Event to a bool")
        if inspect.iscoroutinefunction(predicate):
            raise InvalidDefinition(f"the predicate {name} is async: write it without async; a handler may be async")


def resource_version_changed(event: Event) -> bool:
    """Filters out updates without a change: replays of the cache."""
    return _changed(event, lambda header: header.resource_version)


def generation_changed(event: Event) -> bool:
    """Filters out updates that do not change the spec.

    For kinds whose generation the server maintains: those with a status subresource, and most built-in ones. Updates of
    status, labels, annotations and finalizers do not pass; a deletion that waits for finalizers does.
    """
    return _changed(event, lambda header: header.generation)


def label_changed(event: Event) -> bool:
    """Filters out updates that do not change the labels."""
    return _changed(event, lambda header: header.labels)


def annotation_changed(event: Event) -> bool:
    """Filters out updates that do not change the annotations."""
    return _changed(event, lambda header: header.annotations)


def and_(*predicates: Predicate[T]) -> Predicate[T]:
    """Passes events that pass all of them."""
    return _named("and_", predicates, lambda event: all(predicate(event) for predicate in predicates))


def or_(*predicates: Predicate[T]) -> Predicate[T]:
    """Passes events that pass at least one of them."""
    return _named("or_", predicates, lambda event: any(predicate(event) for predicate in predicates))


def not_(predicate: Predicate[T]) -> Predicate[T]:
    """Passes events that do not pass."""
    return _named("not_", (predicate,), lambda event: not predicate(event))


def on_object(function: Callable[[T], bool]) -> Predicate[T]:
    """Passes events for whose object the function is true: the new one of an update, the last state of a delete."""

    def passes(event: Event[T]) -> bool:
        obj = event.object
        return _has(event, obj) and function(obj)

    return _named("on_object", (function,), passes)


def label_selector(selector: Selector | Mapping[str, Any] | str) -> Predicate:
    """Passes objects that a label selector selects. It is text, a LabelSelector (`matchLabels` …), or parsed.

    For an update, the labels of the new object decide.
    """
    try:
        if isinstance(selector, str):
            selector = Selector.parse(selector)
        elif not isinstance(selector, Selector):
            selector = Selector.from_label_selector(selector)
    except ApiError as error:
        raise InvalidDefinition(f"label_selector({selector!r}): {error}") from error
    matches = selector.matches

    def passes(event: Event) -> bool:
        header = event.header
        return header is not None and matches(header.labels)

    passes.__qualname__ = f"label_selector({selector})"
    return passes


def name_of(function: object) -> str:
    """The name of a predicate as it was written: `not_(generation_changed)`."""
    name = getattr(function, "__qualname__", "") or type(function).__qualname__
    return str(name).rpartition("<locals>.")[2]


def _named(name: str, parts: Iterable[object], predicate: Predicate[T]) -> Predicate[T]:
    """A combined predicate with a name for the log."""
    if isinstance(predicate, FunctionType):
        predicate.__qualname__ = f"{name}({', '.join(name_of(part) for part in parts)})"
    return predicate


def _changed(event: Event, part: Callable[[Header], object]) -> bool:
    if event.type != "update":
        return True
    old, new = event.old_header, event.new_header
    if old is None or new is None:
        log.error("Update event has no old or no new object", event=event)
        return False
    return part(old) != part(new)


def _has(event: Event, obj: object) -> bool:
    if obj is None:
        log.error("Event has no object", event=event)
    return obj is not None
