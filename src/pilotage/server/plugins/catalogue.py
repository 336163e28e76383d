"""The chain of the admission plugins of a set of kinds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache, partial
from importlib import import_module

from pilotage.server.admission import Admission, AdmissionFunction, Limited
from pilotage.server.kinds import PluginRow
from pilotage.server.plugins.plugin import Plugin, PluginContext


def chain(plugins: Sequence[PluginRow], names: Collection[str], context: PluginContext) -> Admission:
    """The chain of the plugins with these names. A plugin is loaded when a resource that it checks is written."""

    @cache
    def plugin(row: PluginRow) -> Plugin:
        made: Plugin = getattr(import_module(row.module), row.name)(context)
        return made

    def function(row: PluginRow, phase: str) -> AdmissionFunction:
        found: AdmissionFunction = getattr(plugin(row), phase)
        return found

    rows = [row for row in plugins if row.name in names and row.module]
    phases = {
        phase: tuple(
            Limited(
                partial(function, row, phase),
                frozenset(row.resources) or None,
                row.configured_by,
                keeps_managed_fields=row.configured_by != "configurations",  # as webhooks and policies
            )
            for row in rows
            if phase in row.phases
        )
        for phase in ("mutate", "validate")
    }
    return Admission(phases["mutate"], phases["validate"])
