"""Objects through the functions of a strategy, in the order in which a write calls them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from pilotage.codec.defaults.table import Default, default_of
from pilotage.errors import Cause
from pilotage.kubernetes.kinds import KINDS
from pilotage.meta.documents import Document, copied
from pilotage.server.catalogue.catalogue import strategy_for
from pilotage.server.strategies.strategy import Strategy
from pilotage.types import builtin

NOW = "2026-01-02T03:04:05Z"


def created(strategy: Strategy, **content: Any) -> tuple[Document, list[Cause]]:
    """A new object as it would be stored, and what is wrong with it."""
    document = {"metadata": {"name": "one", "namespace": "n", "creationTimestamp": NOW}} | copied(content)
    set_defaults(strategy, document)
    strategy.prepare_for_create(document)
    causes = list(strategy.validate(document))
    if not causes:
        strategy.canonicalize(document)
    return document, causes


def updated(strategy: Strategy, old: Document, **content: Any) -> tuple[Document, list[Cause]]:
    """The next state of an object, some of whose fields are replaced, and what is wrong with it."""
    document = copied(old) | copied(content)
    set_defaults(strategy, document)
    strategy.prepare_for_update(document, old)
    return document, list(strategy.validate_update(document, old))


def status_written(strategy: Strategy, old: Document, **content: Any) -> tuple[Document, list[Cause]]:
    """The next state of an object whose status is written, and what is wrong with it."""
    document = copied(old) | copied(content)
    set_defaults(strategy, document)
    document = strategy.prepare_for_status_update(document, old)
    return document, list(strategy.validate_status_update(document, old))


def set_defaults(strategy: Strategy, document: Document) -> None:
    """The defaults of the kind that has this strategy, in place."""
    for default in _defaults_of(strategy):
        default(document)
    strategy.default(document)


@cache
def _defaults_of(strategy: Strategy) -> list[Default]:
    found = {
        default
        for mapping in builtin.resources()
        if type(strategy_of(str(mapping.resource.group_resource), mapping.resource.version)) is type(strategy)
        and (default := default_of(mapping.gvk)) is not None
    }
    return list(found)


@cache
def strategy_of(resource: str, version: str = "") -> Strategy:
    """The strategy of a built-in resource with its rules, at one of its versions."""
    for mapping in builtin.resources():
        if str(mapping.resource.group_resource) == resource and version in ("", mapping.resource.version):
            rules, make = strategy_for(mapping, KINDS)
            return make(rules)
    raise LookupError(resource)


def fields(causes: Iterable[Cause]) -> list[str]:
    return [cause.field for cause in causes]
