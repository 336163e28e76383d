"""The commands of the kit and their flags. Light: nothing that a command needs is loaded."""

from pilotage.cli.kit.arguments.flags import Command
from pilotage.cli.kit.arguments.reads import API_RESOURCES, DESCRIBE, EVENTS, EXPLAIN, GET, LOGS, WAIT
from pilotage.cli.kit.arguments.writes import ANNOTATE, APPLY, CREATE, DELETE, DIFF, EDIT, LABEL, PATCH, RECONCILE

_ALL = (
    GET,
    DESCRIBE,
    CREATE,
    APPLY,
    DIFF,
    EDIT,
    PATCH,
    DELETE,
    LABEL,
    ANNOTATE,
    WAIT,
    EXPLAIN,
    API_RESOURCES,
    EVENTS,
    LOGS,
)
COMMANDS = {command.name: command for command in _ALL}
"""All commands that work on any server or storage, in the order of the help."""

__all__ = ["COMMANDS", "RECONCILE", "Command"]
