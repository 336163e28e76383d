"""The commands that maintain the storage of a tool."""

from __future__ import annotations

import argparse
from functools import partial

from pilotage.errors import PilotageError
from pilotage.kit.arguments.flags import Arguments
from pilotage.kit.console.errors import INTERRUPTED
from pilotage.kit.console.help import add_command
from pilotage.kit.execution import check_no_loop, without_storage_log
from pilotage.kit.store import COMMANDS, StoreArguments, StoreCommand
from pilotage.kit.store.tenants import Run, add_tenants

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pilotage.kit.arguments.planning import Where
    from pilotage.kit.tool import Tool


def add_maintenance(subparsers: Any, tool: Tool, name: str) -> None:
    """Add one of the commands to the command line of a tool."""
    program = subparsers._prog_prefix
    if name == "tenants":
        add_tenants(
            subparsers,
            program,
            "",
            partial(tool.add_place, tenant=False, keys=False),
            lambda options: _where(tool, options).storage,
            _reported,
        )
        return
    command = COMMANDS[name]
    lines = [f"{program} {name} {each.format('').strip()}" for each in command.examples]
    run = _reported(partial(_perform, tool, command))
    parser = add_command(subparsers, name, command.summary, command.description, *lines, run=run)
    command.add(parser)
    tool.add_place(parser, tenant=command.tenant, keys=bool(command.keys))


def _perform(tool: Tool, command: StoreCommand, options: argparse.Namespace) -> int:
    check_no_loop()
    where = _where(tool, options)
    chosen = {"storage": where.storage, "tenant": where.tenant, "encryption_keys": where.encryption_keys}
    own = {"into": tool.namespace, "audit": tool.audit}
    with without_storage_log():
        return command.perform(StoreArguments(**{**vars(options), **chosen, **own}))


def _where(tool: Tool, options: argparse.Namespace) -> Where:
    return tool.facts(Arguments(**vars(options))).where


def _reported(run: Run) -> Run:
    """The same, with errors as lines on standard error and exit codes."""

    def reported(options: argparse.Namespace) -> int:
        try:
            return run(options)
        except KeyboardInterrupt:
            return INTERRUPTED
        except PilotageError as error:
            from pilotage.kit.exits import code_of, print_error

            print_error(error)
            return code_of(error)

    return reported
