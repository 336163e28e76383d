"""Installs the kinds of a tool for a command beside which its reconcilers do not run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pilotage.cli.kit.kinds import has_versions
from pilotage.cli.kit.references import load

if TYPE_CHECKING:
    from pilotage.cluster.cluster import Cluster
    from pilotage.manager.manager import Manager
    from pilotage.meta.models import Resource

Setup = Callable[["Manager"], Any] | str
"""A function that is given a manager, or its import path."""


async def set_up(setup: Setup, manager: Manager) -> None:
    """Call the function of a tool, which may be async and is imported now if it is named by its path."""
    result = load(setup)[0](manager) if isinstance(setup, str) else setup(manager)
    if inspect.isawaitable(result):
        await result


async def install(cluster: Cluster, kinds: Sequence[type[Resource]], setup: Setup | None) -> None:
    """Install the kinds, with the conversions that `setup` declares: a CRD without them would lose fields of objects
    in another version. The manager that is set up for that is not started."""
    if setup is not None and has_versions(kinds):
        from pilotage.manager.manager import Manager
        from pilotage.manager.options import ManagerOptions

        async with Manager(cluster, ManagerOptions(handle_signals=False)) as manager:
            await set_up(setup, manager)
            cluster.conversions.update(manager.webhook_server.in_process_conversions)
    await cluster.install(*kinds)
