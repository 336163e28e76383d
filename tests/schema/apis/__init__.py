"""APIs to make CRDs from: the lists of what is right and what is wrong."""

from __future__ import annotations

import importlib

from pilotage.meta.models import Model, Resource

RIGHT = ("database", "widgets", "backups", "workloads")


def models(name: str) -> list[type[Model]]:
    """The models that a module of this package defines."""
    module = importlib.import_module(f"{__name__}.{name}")
    found = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Model)]
    return [model for model in found if model.__module__ == module.__name__]


def resources(name: str) -> list[type[Resource]]:
    """Those of them that are kinds."""
    return [model for model in models(name) if issubclass(model, Resource)]
