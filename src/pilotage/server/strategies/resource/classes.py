"""DeviceClasses: which devices a claim can ask for by one name."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, too_many
from pilotage.meta.documents import Document
from pilotage.server.offload import COMPILED
from pilotage.server.strategies.checks.items import validate_each
from pilotage.server.strategies.checks.resourcenames import is_extended
from pilotage.server.strategies.resource.devices import (
    MAX_CONFIGURATIONS,
    validate_configuration,
    validate_selectors,
)
from pilotage.server.strategies.strategy import Strategy


class DeviceClassStrategy(Strategy):
    """Classes can change at any time."""

    schema_rules = False
    weight = COMPILED

    def validate(self, document: Document) -> list[Cause]:
        return list(_validate_spec(document.get("spec") or {}, "spec"))


def _validate_spec(spec: Document, path: str) -> Iterator[Cause]:
    yield from validate_selectors(spec.get("selectors") or (), f"{path}.selectors")
    configs = spec.get("config") or ()
    if len(configs) > MAX_CONFIGURATIONS:
        yield too_many(f"{path}.config", len(configs), MAX_CONFIGURATIONS)
    else:
        yield from validate_each(configs, f"{path}.config", validate_configuration)
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended(name):
        yield invalid(f"{path}.extendedResourceName", name, "must be a valid extended resource name")
