"""Objects through the functions of a strategy, in the order in which a write calls them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pilotage.errors import Cause
from pilotage.meta.documents import Document, copied
from pilotage.server.strategies.strategy import Strategy

NOW = "2026-01-02T03:04:05Z"


def created(strategy: Strategy, **content: Any) -> tuple[Document, list[Cause]]:
    """A new object as it would be stored, and what is wrong with it."""
    document = {"metadata": {"name": "one", "namespace": "n", "creationTimestamp": NOW}} | copied(content)
    strategy.default(document)
    strategy.prepare_for_create(document)
    causes = list(strategy.validate(document))
    if not causes:
        strategy.canonicalize(document)
    return document, causes


def updated(strategy: Strategy, old: Document, **content: Any) -> tuple[Document, list[Cause]]:
    """The next state of an object, some of whose fields are replaced, and what is wrong with it."""
    document = copied(old) | copied(content)
    strategy.default(document)
    strategy.prepare_for_update(document, old)
    return document, list(strategy.validate_update(document, old))


def status_written(strategy: Strategy, old: Document, **content: Any) -> tuple[Document, list[Cause]]:
    """The next state of an object whose status is written, and what is wrong with it."""
    document = copied(old) | copied(content)
    strategy.default(document)
    document = strategy.prepare_for_status_update(document, old)
    return document, list(strategy.validate_status_update(document, old))


def fields(causes: Iterable[Cause]) -> list[str]:
    return [cause.field for cause in causes]
