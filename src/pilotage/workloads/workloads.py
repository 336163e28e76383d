"""Simulated workloads: the controllers on a manager of their own, beside the program."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from random import Random
from types import TracebackType

from pilotage.cache.plan import CacheOptions
from pilotage.cluster.cachedclient import CachedClient
from pilotage.cluster.cluster import Cluster
from pilotage.errors import InvalidDefinition
from pilotage.history.options import HistoryOptions
from pilotage.manager.errors import NotIdle
from pilotage.manager.manager import Manager
from pilotage.manager.options import ControllerDefaults, ManagerOptions
from pilotage.meta.bounds.amounts import Seconds, optional_seconds
from pilotage.meta.selectors.selectors import Selector
from pilotage.telemetry.logs import quiet
from pilotage.types.core.v1 import Pod
from pilotage.workloads import controllers, draining
from pilotage.workloads.context import Context
from pilotage.workloads.faults.fault import Fault, parse
from pilotage.workloads.faults.faults import Faults
from pilotage.workloads.logs import Logs
from pilotage.workloads.nodes.simulated import SimulatedNodes
from pilotage.workloads.options import WorkloadOptions
from pilotage.workloads.pods.index import Pods
from pilotage.workloads.pods.view import PodView
from pilotage.workloads.presence import without_present
from pilotage.workloads.progress import Progress
from pilotage.workloads.stages.lifecycle import Lifecycle


class Workloads:
    """The controllers of kube-controller-manager, a scheduler and simulated nodes on a cluster, inside `async with`.

    The cluster must be open. They have clients and caches of their own, so the program does not see their calls. On a
    remote cluster only what it lacks is simulated, so that nothing is controlled twice.
    """

    def __init__(self, cluster: Cluster, options: WorkloadOptions | None = None) -> None:
        self.options = options if options is not None else WorkloadOptions()
        controllers.check(self.options.controllers)  # raises here, where the options are given
        self._faults = Faults(self.options)
        for text in self.options.faults:
            self._faults.add(parse(text))
        self._cluster = cluster
        self._exits = AsyncExitStack()
        self._context: Context | None = None
        self._logs: Logs | None = None

    # Faults

    def inject(self, fault: Fault) -> Fault:
        """Put a fault in force, until `remove`."""
        self._faults.add(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        """End a fault. A container that waits in a back-off is started when the back-off ends, as on a real node."""
        self._faults.remove(fault)

    def fail_image(self, image: str, message: str = "") -> Fault:
        """This image cannot be pulled from now on."""
        return self.inject(Fault("image-pull", image=image, message=message))

    def repair_image(self, image: str) -> None:
        """This image can be pulled again, at the next try of each node."""
        for fault in self._faults.named("image-pull"):
            if fault.image == image:
                self.remove(fault)

    def lose_node(self, name: str) -> None:
        """A node sends no more heartbeats, and its Pods change no more: it is NotReady after 50 seconds, and its Pods
        are evicted after their tolerations."""
        self._running.nodes.lose(self._checked_node(name))

    def recover_node(self, name: str) -> None:
        """A lost node is there again."""
        self._running.nodes.recover(self._checked_node(name))

    async def drain_node(self, name: str) -> list[str]:
        """Cordon a node and evict its Pods, as `kubectl drain --ignore-daemonsets` does. Returns the names of the Pods
        whose eviction a budget refuses."""
        return await draining.drain(self._running, self._checked_node(name))

    async def uncordon_node(self, name: str) -> None:
        """Pods may be scheduled to a node again."""
        await draining.uncordon(self._running, self._checked_node(name))

    # What Pods do

    def say(self, pod: str, line: str, *, namespace: str = "default", container: str = "") -> None:
        """Write a line, or several, to the log of a container, which `kubectl logs` shows; without a name, of the first
        container of the Pod."""
        assert self._running is not None  # raises outside of the block
        assert self._logs is not None  # while they run
        self._logs.say(pod, line, namespace=namespace, container=container)

    # What there is

    def pods(self, namespace: str, labels: Mapping[str, str] | None = None) -> list[PodView]:
        """The Pods of a namespace, as the controllers see them now; with `labels`, the Pods that have these."""
        selector = Selector.from_labels(labels or {})
        return [pod for pod in self._running.pods.in_namespace(namespace) if selector.matches(pod.labels)]

    def waiting_reasons(self, namespace: str, labels: Mapping[str, str] | None = None) -> set[str]:
        """Why containers wait that should run, such as `ImagePullBackOff`; not those that are on their way."""
        found = {reason for pod in self.pods(namespace, labels) for reason in pod.waiting}
        return found - {"ContainerCreating", "PodInitializing"}

    def nodes_of(self, namespace: str, labels: Mapping[str, str] | None = None) -> set[str]:
        """The nodes of the Pods that are not being deleted. On a lost node deleted Pods stay, and nothing runs."""
        return {pod.node for pod in self.pods(namespace, labels) if pod.deleted is None and pod.node}

    # Running

    @property
    def manager(self) -> Manager:
        """The manager of the controllers."""
        return self._running.manager

    async def run_until_idle(self, timeout: Seconds | None = None, horizon: Seconds = 0) -> None:
        """Wait until no controller has work, and no Pod is starting or stopping. Raises NotIdle after `timeout`
        seconds."""
        clock = asyncio.get_running_loop().time
        began, limit = clock(), optional_seconds(timeout, "timeout")
        while True:
            left = None if limit is None else max(0.0, limit - (clock() - began))
            await self.manager.run_until_idle(left, horizon)
            due = self._running.progress.next
            if due is None:
                return
            pause = max(0.001, (due - self.manager.clock()).total_seconds())
            if left is not None and pause > left:
                raise NotIdle(self._running.progress.sentences(), clock() - began)
            await asyncio.sleep(pause)

    async def __aenter__(self) -> Workloads:
        if self._cluster.server_url:
            self.options = await without_present(self._cluster.client, self.options)
        with quiet():
            await self._start()
        return self

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        if hasattr(loop, "skips_housekeeping"):  # in virtual time
            loop.skips_housekeeping = True
        async with AsyncExitStack() as exits:
            options = ManagerOptions(
                handle_signals=False,
                history=HistoryOptions(enabled=False),
                cache=CacheOptions(sync_period=0),
                controller=ControllerDefaults(skip_name_validation=True),
            )
            manager = await exits.enter_async_context(Manager(self._cluster.sibling(), options))
            context = await self._set_up(manager)
            self._logs = Logs(context.pods, manager.clock)
            if self.options.chooses("kubelet") and not self._cluster.server_url:
                runtimes = self._cluster.registry.context.runtimes
                runtimes.append(self._logs)
                exits.callback(runtimes.remove, self._logs)
            task = loop.create_task(manager.start(), name="workloads")
            exits.push_async_callback(_stopped, task)
            await manager.ready()
            self._context = context
            self._exits = exits.pop_all()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._context = None
        with quiet():
            await self._exits.aclose()

    @property
    def _running(self) -> Context:
        if self._context is None:
            raise InvalidDefinition("the workloads are not running: use them inside `async with`")
        return self._context

    def _checked_node(self, name: str) -> str:
        names = self._running.nodes.names
        if name not in names:
            raise InvalidDefinition(f"there is no simulated node {name!r}; there are: {', '.join(sorted(names))}")
        return name

    async def _set_up(self, manager: Manager) -> Context:
        client = manager.client
        assert isinstance(client, CachedClient)
        pods = Pods(client)
        informer = await manager.cache.informer_for(Pod)
        informer.add_event_handler(pods.note)
        random = Random(self.options.seed)  # noqa: S311 - reproducible, and no secret
        nodes = SimulatedNodes(manager.clock)
        lifecycle = Lifecycle(self.options.stages)
        context = Context(manager, self.options, pods, nodes, self._faults, Progress(), random, lifecycle)
        await controllers.set_up(context)
        return context


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()
