"""DeviceClasses: devices that claims request by one name."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, too_many
from pilotage.meta.documents import Document
from pilotage.server.offload import COMPILED
from pilotage.server.strategies.checks.items import validate_each
from pilotage.server.strategies.checks.resourcenames import is_extended
from pilotage.server.strategies.resource.devices import MAX_CONFIGURATIONS, validate_configuration, validate_selectors
from pilotage.server.strategies.strategy import Strategy


class DeviceClassStrategy(Strategy):
    """Classes can change at any time."""

    weight = COMPILED

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = document.get("spec") or {}
        yield from validate_selectors(spec.get("selectors") or (), "spec.selectors")
        configs = spec.get("config") or ()
        if len(configs) > MAX_CONFIGURATIONS:
            yield too_many("spec.config", len(configs), MAX_CONFIGURATIONS)
        else:
            yield from validate_each(configs, "spec.config", validate_configuration)
        name = spec.get("extendedResourceName")
        if name is not None and not is_extended(name):
            yield invalid("spec.extendedResourceName", name, "must be a valid extended resource name")
