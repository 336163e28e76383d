"""The commands of `pilotage` on objects: any storage in this process, or any server by a kubeconfig."""

from __future__ import annotations

from functools import partial

from pilotage.kit.arguments import COMMANDS
from pilotage.kit.arguments.planning import Facts, Where
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.flags import storages
from pilotage.kit.execution import execute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pilotage.kit.arguments.flags import Arguments
    from pilotage.kit.kinds import Visible


def register(subparsers: Any, name: str) -> None:
    """Add a command to the command line of `pilotage`."""
    command = COMMANDS[name]
    parser = command.add_parser(subparsers)
    parser.set_defaults(run=partial(execute, Anywhere(), command))
    group = parser.add_argument_group("where it works")  # as the flags of `pilotage run`
    storages.add_storage(group, f"a storage: {storages.STORAGES}")
    storages.add_tenant(group)
    storages.add_encryption_keys(group)
    storages.add_kubeconfig(group)


class Anywhere:
    """The storage or server that the flags or their environment variables (PILOTAGE_STORAGE and others) select."""

    name = "pilotage"
    namespace = "default"
    setup = None
    audit = ("", "")
    ends_process = True
    own_kinds = ()
    shown = None

    def facts(self, options: Arguments) -> Facts:
        where = Where.chosen(options, "PILOTAGE")
        if options.kubeconfig or options.context:
            if options.storage:
                raise CommandError("--storage is a storage, --kubeconfig and --context are a server: give one")
            return Facts(Where("", kubeconfig=where.kubeconfig, context=where.context))  # flags win over the variable
        return Facts(where, needs_file=True)

    @property
    def visible(self) -> Visible:
        """Everything that is defined."""
        from pilotage.kit.kinds import Visible
        from pilotage.types.names import builtin_names

        return Visible(None, builtin_names())
