"""Strategies whose module is imported when they are first used: a server starts without the rules of every kind."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any

from pilotage.server.strategies.strategy import Strategy

_PACKAGE = "pilotage.server.strategies"
_FLAGS = frozenset(field.name for field in fields(Strategy))


@dataclass(frozen=True, kw_only=True, eq=False)
class DeferredStrategy(Strategy):
    """Has the flags of a strategy; all else is that of the class that `target` names (`apps.jobs:JobStrategy`)."""

    target: str

    def __getattribute__(self, name: str) -> Any:
        if name in _FLAGS or name == "target" or name.startswith("__"):
            return object.__getattribute__(self, name)
        return getattr(_loaded(self), name)


def _loaded(strategy: DeferredStrategy) -> Strategy:
    known: Strategy | None = strategy.__dict__.get("loaded")
    if known is None:
        module, _, name = strategy.target.partition(":")
        made = getattr(import_module(f"{_PACKAGE}.{module}"), name)
        known = made(**{flag: getattr(strategy, flag) for flag in _FLAGS})
        object.__setattr__(strategy, "loaded", known)
    return known
