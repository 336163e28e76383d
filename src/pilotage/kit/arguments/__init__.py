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

_WRITES = (create, apply, diff, replace, edit, patch, scale, delete, label, annotate)
COMMANDS = {each.name: each for each in (get, describe, *_WRITES, wait, explain, api_resources, events, logs)}
"""All commands that work on any server or storage, in the order of the help."""
RECONCILE = reconcile
WHY = why
"""Of tools with reconcilers; `pilotage why` asks running programs, too."""

__all__ = ["COMMANDS", "RECONCILE", "WHY", "Command"]
