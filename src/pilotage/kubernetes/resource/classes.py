"""DeviceClasses: devices that claims request by one name."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.checks import resourcenames
from pilotage.kubernetes.resource.devices import MAX_CONFIGURATIONS, validate_configuration, validate_selectors
from pilotage.meta.causes import invalid
from pilotage.meta.documents import Document
from pilotage.server.strategies.checks import items
from pilotage.server.strategies.strategy import Strategy


class DeviceClassStrategy(Strategy):
    """Classes can change at any time."""

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = document.get("spec") or {}
        yield from validate_selectors(spec.get("selectors") or (), "spec.selectors")
        yield from items.few(spec.get("config") or (), "spec.config", MAX_CONFIGURATIONS, validate_configuration)
        name = spec.get("extendedResourceName")
        if name is not None and not resourcenames.is_extended(name):
            yield invalid("spec.extendedResourceName", name, "must be a valid extended resource name")
