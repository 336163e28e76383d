"""What a program declares: its kinds, watches, recorders of events, webhooks and further clusters.

The program is set up on a manager that is not started, with an embedded API server in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

from pilotage.cli.program.target import companions
from pilotage.kit.console.errors import CommandError

if TYPE_CHECKING:
    from pilotage.cli.program.target import Target
    from pilotage.manager.declared import DeclaredRecorder, DeclaredWatch
    from pilotage.manager.manager import Manager
    from pilotage.manager.options import ManagerOptions
    from pilotage.meta.models import Resource
    from pilotage.webhook.options import WebhookServerOptions
    from pilotage.webhook.registration import Registrable


@dataclass(frozen=True, slots=True)
class Declarations:
    """All that can be read of a program without a start."""

    target: Target
    kinds: tuple[type[Resource], ...]
    watches: tuple[DeclaredWatch, ...]
    recorders: tuple[DeclaredRecorder, ...]
    webhooks: tuple[Registrable, ...]
    webhook_options: WebhookServerOptions | None
    """Those of the webhook server; None if the program has no webhooks."""
    clusters: tuple[str, ...]
    """The names of further clusters."""
    aggregated_groups: frozenset[str]
    """API groups that other servers serve, such as the Device API: no role of the cluster is about them."""
    options: ManagerOptions | None
    """The options of the program's own manager; None if `pilotage run` makes the manager."""

    @property
    def modules(self) -> list[ModuleType]:
        """The modules that the program is written in."""
        return [*companions(self.target.module), self.target.module]


async def declarations(target: Target) -> Declarations:
    """Set up the program and read what it declares. Raises CommandError with the reason in one line."""
    from pilotage.cluster.cluster import Cluster
    from pilotage.errors import PilotageError
    from pilotage.manager.manager import Manager
    from pilotage.manager.options import ManagerOptions

    if target.manager is not None:
        return _read(target, target.manager, target.manager.options)
    try:
        async with Manager(Cluster.embedded(), ManagerOptions(handle_signals=False)) as manager:
            await target.setup(manager)
            return _read(target, manager, None)
    except CommandError:
        raise
    except PilotageError as error:
        raise CommandError(f"{target.name} cannot be set up: {error}") from error


def _read(target: Target, manager: Manager, options: ManagerOptions | None) -> Declarations:
    server = manager.webhook_server
    return Declarations(
        target=target,
        kinds=target.kinds,
        watches=tuple(manager.declared.watches),
        recorders=tuple(manager.declared.recorders),
        webhooks=tuple(server.declarations),
        webhook_options=server.options if server.paths else None,
        clusters=tuple(member.name for member in manager.clusters),
        aggregated_groups=manager.cluster.aggregated_groups,
        options=options,
    )
