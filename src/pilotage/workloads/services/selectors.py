"""The selectors of all Services, so that the event of a Pod reads none of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pilotage.controller.event import Event
from pilotage.types.core.v1 import Service


class ServiceSelectors:
    """By namespace and name. It is filled by the events of Services, which are not filtered by it."""

    def __init__(self) -> None:
        self._selectors: dict[str, dict[str, Mapping[str, str]]] = {}

    def note(self, event: Event[Service]) -> bool:
        """Take over the selector of a Service; always true."""
        services = self._selectors.setdefault(event.namespace, {})
        selector = event.object.spec.selector if event.type != "delete" and event.object.spec is not None else {}
        if selector:
            services[event.name] = selector
        else:
            services.pop(event.name, None)
        return True

    def of(self, namespace: str, labels: Mapping[str, str]) -> Iterator[str]:
        """The names of the Services in a namespace that select these labels."""
        for name, selector in self._selectors.get(namespace, {}).items():
            if all(labels.get(key) == value for key, value in selector.items()):
                yield name
