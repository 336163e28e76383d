"""One run of a program: connect, set up, start, and stop in order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from pilotage.cli.program.target import Target
from pilotage.cli.run.arguments import Flags
from pilotage.cli.run.asked import explained
from pilotage.cli.run.environment import RunEnvironment, connect, environment_of, serving
from pilotage.cli.run.explaining import explaining
from pilotage.cli.run.flags import check_manager_target, manager_options
from pilotage.cli.run.objects import AppliedObjects
from pilotage.cli.simulated import run_until_idle, simulated, workload_options
from pilotage.cluster.installation import wait_served
from pilotage.errors import NoMatch
from pilotage.kit.console.errors import NOT_RECONCILED, CommandError, Interrupted, NotReconciled
from pilotage.kit.console.manifestfiles import read_manifests
from pilotage.kit.console.signals.interruption import Interruption, TimeLimit, ended_by_signals
from pilotage.kit.console.terminal import Terminal
from pilotage.manager.errors import ManagerStopped, NotIdle
from pilotage.manager.installation import Installation
from pilotage.manager.manager import Manager
from pilotage.manager.processes.child import process_number
from pilotage.manager.runs.schedule import every
from pilotage.net.sockets import parse_bind_address
from pilotage.recording.file import check_file
from pilotage.tasks import cancel_all
from pilotage.telemetry.logs import logger

if TYPE_CHECKING:
    from pilotage.cluster.cluster import Cluster
    from pilotage.meta.models import Resource
    from pilotage.workloads import Workloads

log = logger("pilotage.run")


class Program:
    """A target, the flags of its run, and the terminal that shows what it does. `name` is for its Leases, and names it
    in its requests."""

    def __init__(self, target: Target, flags: Flags, terminal: Terminal, name: str) -> None:
        self.target = target
        self.flags = flags
        self.terminal = terminal
        self.name = name
        self.interruption: Interruption | None = None
        """What a signal does if the event loop does not respond to it."""
        self.workloads: list[Workloads] = []
        """The simulated workloads beside the program; the first of several processes has them."""

    async def run(self) -> None:
        """Run until a signal, or until idle, once or on a schedule. Raises errors of Pilotage, for one line."""
        if self.flags.every:
            await every(self.flags.every, self._run)
        else:
            await self._run()

    async def _run(self) -> None:
        objects = read_manifests(self.flags.filename, required=False)
        with ended_by_signals(Interrupted("interrupted"), self.interruption) as starting:
            async with AsyncExitStack() as exits:
                found, manager = await self._manager(exits)
                if self.interruption is not None:
                    self.interruption.observe(manager)
                exits.enter_context(explaining(manager.history, self.flags, self.terminal))
                log.info(f"Running {self.target.name} on {found.description}")
                manager.history.program = self.target.name
                await exits.enter_async_context(connect(found, self.terminal))
                await exits.enter_async_context(manager)
                await exits.enter_async_context(explained(manager, self._shown_name))
                self._show_page(manager)
                await self.target.setup(manager)
                await self._install(manager)
                if objects and process_number() <= 1:  # the first of several serves the webhooks that they go through
                    manager.add(AppliedObjects(manager.cluster.client, objects, found.namespace))
                await exits.enter_async_context(serving(manager.cluster, self.flags, self.target.kinds))
                self.workloads = await exits.enter_async_context(self._simulated(manager.cluster))
                starting.set()
                await self._start(manager)

    def _simulated(self, cluster: Cluster) -> AbstractAsyncContextManager[list[Workloads]]:
        flags = self.flags
        is_here = flags.simulate_workloads and process_number() <= 1
        return simulated(cluster, workload_options(flags.nodes, flags.fault, flags.stages) if is_here else None)

    @property
    def _shown_name(self) -> str:
        """Its name, with the number of this process among several."""
        return f"{self.name}-{number}" if (number := process_number()) else self.name

    async def _manager(self, exits: AsyncExitStack) -> tuple[RunEnvironment, Manager]:
        own = self.target.manager
        if own is not None:
            check_manager_target(self.flags, self.target.name)
            where = own.cluster.server_url or "an API server in this process"
            return RunEnvironment(own.cluster, f"its own cluster ({where})"), own
        found = await exits.enter_async_context(environment_of(self.flags))
        found.cluster.user_agent = self.name
        if self.flags.record is not None:
            check_file(str(self.flags.record))
        options = manager_options(self.flags, self.name, found.namespace, process_number())
        return found, Manager(found.cluster, options)

    def _show_page(self, manager: Manager) -> None:
        """Print the address of the live page, with its token. A log is kept, so it has the address only if it is the
        only output."""
        if not self.flags.ui or parse_bind_address(self.flags.ui) is None:
            return
        if self.flags.log_format == "json":
            log.info("Serving the live page", url=manager.ui_url)
        else:
            self.terminal.line(f"Live page: {manager.ui_url}")

    async def _install(self, manager: Manager) -> None:
        """Have the kinds installed at the start, when the program is set up and its conversion webhooks are served."""
        kinds = self.target.kinds
        embedded = not manager.cluster.server_url
        if embedded if self.flags.install is None else self.flags.install:
            if kinds:
                manager.add(Installation(partial(self._install_now, manager.cluster)))
            return
        missing = [kind for kind in kinds if kind.__resource__.served and not await _is_served(manager, kind)]
        if missing:
            raise CommandError(
                f"the cluster does not serve {_listed(missing)}: install the CustomResourceDefinitions with --install, "
                f"or with `pilotage crd {self.target.name.partition(':')[0]} | kubectl apply -f -`"
            )

    async def _install_now(self, cluster: Cluster) -> None:
        kinds = self.target.kinds
        if process_number() > 1:  # the first of several serves the conversions, and installs
            await wait_served(cluster.client, kinds, discover=True)
            return
        await cluster.install(*kinds)
        log.info(f"Installed {_listed(kinds)}")

    async def _start(self, manager: Manager) -> None:
        if not self.flags.until_idle:
            await self._start_until_stopped(manager)
            return
        self._limit_blocks()
        started = asyncio.get_running_loop().time()
        with self.terminal.working("Waiting until everything is reconciled"):
            try:
                await self._run_until_idle(manager)
            except ManagerStopped as error:
                if self.flags.every:
                    raise
                raise Interrupted("interrupted") from error
            except NotIdle as error:
                if self.flags.every:
                    raise
                raise NotReconciled(_pending(error.busy, self.flags)) from error
            finally:
                if self.interruption is not None:
                    self.interruption.limit(None)  # the end of the manager has limits of its own
        seconds = asyncio.get_running_loop().time() - started
        log.info("Everything is reconciled", seconds=round(seconds, 2))

    def _limit_blocks(self) -> None:
        """End the process at its timeout also if a reconcile blocks the event loop; a schedule goes on."""
        if self.interruption is not None and self.flags.idle_timeout and not self.flags.every:
            message = partial(_pending, flags=self.flags)
            self.interruption.limit(TimeLimit(self.flags.idle_timeout, NOT_RECONCILED, message, time.monotonic()))

    async def _run_until_idle(self, manager: Manager) -> None:
        timeout, horizon = self.flags.idle_timeout, self.flags.horizon or 0
        if not self.flags.only:
            await run_until_idle(manager, self.workloads, timeout, horizon)
            return
        resource, *namespaces, name = self.flags.only.split("/")
        mapping = await manager.rest_mapper.lookup(resource)
        namespace = "".join(namespaces) or ("default" if mapping.namespaced else "")
        await manager.run_once(mapping.gvk, name, namespace=namespace, timeout=timeout, horizon=horizon)

    async def _start_until_stopped(self, manager: Manager) -> None:
        announcing = asyncio.create_task(self._announce(manager), name="announcement")
        try:
            await manager.start()
        finally:
            await cancel_all(announcing)

    async def _announce(self, manager: Manager) -> None:
        """Show that caches are filled, and log when the program works."""
        try:
            with self.terminal.working("Starting webhooks and filling caches"):
                await manager.ready()
        except ManagerStopped:
            return
        log.info("Ready" if not self.terminal.isatty() else "Ready; press Ctrl-C to stop, twice to stop at once")


def _pending(busy: Sequence[str], flags: Flags) -> str:
    lines = [f"not everything is reconciled after {flags.idle_timeout:g} s (--timeout); still pending:"]
    return "\n".join([*lines, *(f"  {reason}" for reason in busy)])


async def _is_served(manager: Manager, kind: type[Resource]) -> bool:
    try:
        await manager.rest_mapper.lookup(kind.__resource__.gvk)
    except NoMatch:
        return False
    return True


def _listed(kinds: Sequence[type[Resource]]) -> str:
    found = [kind.__resource__.gvk for kind in kinds]
    return ", ".join(f"{gvk.kind} ({gvk.group}/{gvk.version})" for gvk in found)
