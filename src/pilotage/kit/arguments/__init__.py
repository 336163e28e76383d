"""The commands of the kit and their flags. Light: nothing that a command needs is loaded."""

from pilotage.kit.arguments.flags import Command
from pilotage.kit.arguments.reads import api_resources, describe, events, explain, get, logs, wait, why
from pilotage.kit.arguments.writes import (
    annotate,
    apply,
    create,
    delete,
    diff,
    edit,
    label,
    patch,
    reconcile,
    replace,
    scale,
)

_READS = (get, describe, wait, events, logs, explain, api_resources)
_WRITES = (create, apply, diff, replace, edit, patch, scale, delete, label, annotate)
COMMANDS = {each.name: each for each in (*_READS, *_WRITES)}
"""All commands that work on any server or storage, in the order of the help."""
RECONCILE = reconcile
OF_RECONCILERS = {each.name: each for each in (*_READS, why, *_WRITES, reconcile)}
"""The commands of tools with reconcilers. (`pilotage why` asks running programs, too.)"""
GROUPS = {
    "read objects": [each.name for each in (*_READS, why)],
    "write objects": [each.name for each in (*_WRITES, reconcile)],
}
"""The headings of the help."""

__all__ = ["COMMANDS", "GROUPS", "OF_RECONCILERS", "RECONCILE", "Command"]
