"""The manager: starts the runnables of a program in order, supervises them, and stops them in order.

The parts that it is made of are imported when one is created: the class is in the annotations of programs, also of
those that only print a table.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING

from pilotage.errors import InvalidDefinition
from pilotage.manager.endpoints.servers import Servers
from pilotage.manager.errors import AlreadyStarted
from pilotage.manager.runs.running import Running, closed
from pilotage.meta.bounds.amounts import Seconds, optional_seconds

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine
    from datetime import datetime
    from types import TracebackType
    from typing import Any

    from pilotage.cache.cache import Cache
    from pilotage.cache.plan import CacheOptions
    from pilotage.client.client import Client
    from pilotage.cluster.cluster import Cluster
    from pilotage.cluster.events import EventAPI, EventRecorder
    from pilotage.dashboard.server import PageServer
    from pilotage.device.client.clientset import Devices
    from pilotage.http.messages import Handler
    from pilotage.manager.clusters import MemberCluster
    from pilotage.manager.election.elector import LeaderCallbacks
    from pilotage.manager.endpoints.explainer import Explainer
    from pilotage.manager.namespaces import NamespaceSelection
    from pilotage.manager.options import ManagerOptions
    from pilotage.manager.runnables import AnyRunnable
    from pilotage.manager.shards.shards import Shards
    from pilotage.manager.supervision.watchdog import Block
    from pilotage.meta.mapping.mapper import RESTMapper
    from pilotage.meta.mapping.scheme import Scheme
    from pilotage.rest.refusal import MissingPermission


class Manager(Servers, Running):
    """Runs controllers and other runnables on one cluster. It is open inside `async with`, and opens the cluster.

        async with Manager(cluster, ManagerOptions(metrics_bind_address=":8080")) as manager:
            manager.add(...)
            await manager.start()

    `start` runs until a signal, a failure or its cancellation. `run_until_idle` is for programs that end by themselves.
    What still runs at the end of the block is shut down.
    """

    def __init__(self, cluster: Cluster, options: ManagerOptions | None = None) -> None:
        if not hasattr(type(cluster), "__aenter__"):
            raise InvalidDefinition(
                f"a manager needs a cluster (Cluster.embedded(), Cluster.connect()), not {cluster!r}"
            )
        from pilotage.history.history import History
        from pilotage.manager.declared import Declared
        from pilotage.manager.endpoints.endpoints import Endpoints
        from pilotage.manager.lifecycle import Lifecycle
        from pilotage.manager.options import ManagerOptions
        from pilotage.manager.permissions import Permissions
        from pilotage.manager.runs.beginning import Beginning
        from pilotage.manager.work import WorkTracker

        self.cluster = cluster
        self.options = options if options is not None else ManagerOptions()
        self.work = WorkTracker(limit=self.options.max_active_work)
        """Active work: the controllers' reconciles and your own. A shutdown waits for it."""
        self.shards: Shards | None = None
        """The keys that this replica reconciles, with the option `shards`; None: all."""
        self.declared = Declared()
        """The watches and recorders of this manager's controllers; `pilotage rbac` reads them."""
        self.on_blocked_loop: Callable[[Block], None] = lambda block: None
        """Called several times a second while the event loop is blocked for longer than `blocked_loop_threshold`, in
        the thread of the supervisor: set it to end a program that is out of time."""
        self.beginning = Beginning(self.clock)
        self.history = History(self.options.history, self.clock)
        """Why reconciles ran, and what they did: `history.reconciles(Database, "main", namespace="default")`."""
        self.history.kind_of = cluster.rest_mapper.known_kind
        self._lifecycle = Lifecycle(self.work, self.options.graceful_shutdown_timeout, self.options.shutdown_progress)
        self._permissions = Permissions(self._own_permissions)
        self._namespaces: NamespaceSelection | None = None
        self._endpoints = Endpoints(self.options, self._lifecycle, cluster, self._permissions, self._explainer)
        self._devices: Devices | None = None
        self._page: PageServer | None = None
        self._cache: Cache | None = None
        self._client: Client | None = None
        self._controller_names: set[str] = set()
        self._members = []

    @property
    def client(self) -> Client:
        """Reads from the cache, writes live. `cluster.client` reads live."""
        if self._client is None:
            raise closed()
        return self._client

    @property
    def api_reader(self) -> Client:
        """Reads live, past the cache."""
        return self.cluster.client

    @property
    def cache(self) -> Cache:
        """The cache that `client` reads from; filled once the manager has started."""
        if self._cache is None:
            raise closed()
        return self._cache

    @property
    def scheme(self) -> Scheme:
        return self.cluster.scheme

    @property
    def rest_mapper(self) -> RESTMapper:
        return self.cluster.rest_mapper

    def clock(self) -> datetime:
        """The current time, with a time zone: the embedded server's, virtual time in tests, else the machine's."""
        return self.cluster.clock()

    @property
    def elected(self) -> asyncio.Event:
        """Set when this process leads; without an election, when it has started."""
        return self._lifecycle.elected

    @property
    def missing_permissions(self) -> tuple[MissingPermission, ...]:
        """What the API server refuses to the caches, clients and elections of this manager now."""
        return self._permissions.missing()

    def _explainer(self) -> Explainer:
        from pilotage.manager.endpoints.explainer import Explainer

        return Explainer(self.history, self._lifecycle, self.cluster, self.cache, self.declared)

    @property
    def ui_url(self) -> str:
        """The address of the live page, with its token: with it, all objects of the caches can be read."""
        if self._page is None:
            raise InvalidDefinition("there is no live page: ui_bind_address is not set, or the manager is not open")
        return self._page.url

    @cached_property
    def page_handler(self) -> Handler:
        """The data of the live page, to serve it where only the user can reach it: it does not check who asks."""
        from pilotage.dashboard.server import data_handler

        return data_handler(self, self._lifecycle)

    def event_recorder_for(self, name: str, *, api_version: EventAPI = "v1") -> EventRecorder:
        """A recorder of events with `name` as their source, written to the API `api_version`: `v1` or
        `events.k8s.io/v1`."""
        self.declared.record_events(name, api_version)
        return self.cluster.event_recorder_for(name, api_version=api_version)

    async def remove(self, runnable: AnyRunnable, timeout: Seconds | None = None) -> bool:
        """Stop a runnable and remove it; the manager and all others continue.

        A controller is stopped in order: it accepts nothing more, its running reconciles end, or are cancelled after
        `timeout` seconds (None: no limit). Its name may be used again, and `cache.remove_informer` drops the kinds that
        no other controller needs. A runnable without `stop` is cancelled. Returns whether it ended by itself.
        InvalidDefinition if it was not added.
        """
        from pilotage.manager.runnables import name_of

        ended = await self._lifecycle.groups.remove(runnable, optional_seconds(timeout, "timeout"))
        name = name_of(runnable)
        if all(entry.name != name for entry in self._lifecycle.groups.entries()):
            self._controller_names.discard(name)
        return ended

    def claim_controller_name(self, name: str) -> None:
        """Reserve a name, which metrics and logs use, for one controller. InvalidDefinition if another one has it."""
        if name in self._controller_names:
            raise InvalidDefinition(
                f"this manager has a controller {name!r} already, and metrics and logs could not distinguish the two: "
                'name one of them with named("…"), or allow it with skip_name_validation'
            )
        self._controller_names.add(name)

    def add_device_api(self, target: str | Devices = "") -> Devices:
        """Read and write GPUs through the Device API of this node: reads use the manager's cache, writes that server.

        All other kinds are read from the cluster as before. `target` is as for `device.connect`; that connection is
        closed with the manager, and the cluster then has no GPUs. `Devices` that are passed in are closed by the
        caller, and several managers of one cluster may share them. Call it before the start.
        """
        from pilotage.manager.devices import attach, detach

        self._check_not_started("the Device API")
        devices = attach(self.cluster, target)
        if devices is not target:
            self._devices = devices
            if self._exits is not None:
                self._exits.push_async_callback(detach, devices, self.cluster)
        return devices

    async def run_while_leading(
        self,
        lease: str,
        lead: Callable[[], Coroutine[Any, Any, object]],
        *,
        callbacks: LeaderCallbacks | None = None,
        release_on_cancel: bool = False,
    ) -> None:
        """Run `lead` while this process holds another lease than the manager's own; see `LeaderElector.run`.

        `lease` is its name, in `leader_election_namespace`. Times, labels and where it is renewed are as for the
        manager's own. `callbacks` are called when the leadership changes; `release_on_cancel` releases it at the end.
        """
        from pilotage.manager.candidate import for_lease, new_candidate

        election = for_lease(self.options, lease, callbacks)
        candidate = new_candidate(election, self.cluster, self._supervision, self.clock)
        await candidate.lead(lead, release_on_cancel)

    async def add_cluster(
        self, cluster: Cluster, *, name: str = "", cache: CacheOptions | None = None
    ) -> MemberCluster:
        """Work with another cluster, too: opened now unless it is open, with a cache and a client of its own.

        A controller watches it with `ControllerBuilder(manager).watches(kind, handler, cluster=member)`. Readiness and
        `run_until_idle` include its cache. It may be added while the manager runs. `name` is for logs and checks,
        and `cache` has the options of its cache.
        """
        from pilotage.manager.clusters import MemberCluster, check_new
        from pilotage.manager.lag import Lag

        if self._exits is None:
            raise closed()
        name = name or f"cluster-{len(self._members) + 2}"
        check_new(cluster, name, self.cluster, self._members)
        if not cluster.is_open:
            await self._exits.enter_async_context(cluster)
        made = cluster.new_cache(cache)
        lag = Lag(made, cluster.writes, cluster.rest_mapper)
        self._exits.callback(lag.close)
        member = MemberCluster(name, cluster, made, self._cached_client(cluster, made), lag)
        self._members.append(member)
        self.beginning.caches[made] = name
        self._exits.callback(self._permissions.add(cluster, made))
        self._endpoints.members[name] = cluster.check
        self.add(made)
        return member

    @property
    def clusters(self) -> tuple[MemberCluster, ...]:
        """The further clusters."""
        return tuple(self._members)

    async def __aenter__(self) -> Manager:
        import asyncio

        from pilotage.history.logs import recorded_logs
        from pilotage.manager.lag import Lag
        from pilotage.manager.supervision.tasks import supervise

        if self._exits is not None:
            raise AlreadyStarted("the manager was opened already; create another one")
        async with AsyncExitStack() as exits:
            if self._devices is not None:
                from pilotage.manager.devices import detach

                exits.push_async_callback(detach, self._devices, self.cluster)
            if not self.cluster.is_open:
                await exits.enter_async_context(self.cluster)
            if self.options.history.enabled:
                exits.enter_context(recorded_logs(self.history, asyncio.get_running_loop().time))
                if self.options.history.file:
                    from pilotage.recording.recorder import recorded_file

                    exits.enter_context(recorded_file(self.history, lambda: self.rest_mapper.mappings))
            self._supervision = supervise(
                self.options,
                self.work,
                exits,
                is_active=lambda: self._lifecycle.launched,
                on_blocked=lambda block: self.on_blocked_loop(block),
            )
            if self.options.leader_election:
                from pilotage.manager.candidate import new_candidate

                candidate = new_candidate(self.options, self.cluster, self._supervision, self.clock)
                exits.push_async_callback(candidate.close)
                self._lifecycle.elector, self._lifecycle.run_election = candidate.elector, candidate.run
            if self.options.shards:
                from pilotage.manager.shards.shards import new_shards

                self.shards = new_shards(self.options, self.cluster, self._supervision, self.clock)
                exits.push_async_callback(self.shards.close)
                self._lifecycle.shards = self.shards
            self._lifecycle.release_lease = self.options.leader_election_release_on_cancel
            cache = self.cluster.new_cache(self.options.cache)
            self._lag = Lag(cache, self.cluster.writes, self.cluster.rest_mapper)
            exits.callback(self._lag.close)
            self._client = self._cached_client(self.cluster, cache)
            await self._endpoints.open(self._supervision, self.add, exits)
            if self.options.webhook_server is not None:
                self.webhook_server  # noqa: B018 - adds it
            exits.callback(self._permissions.add(self.cluster, cache))
            self._cache = cache
            self.add(cache)
            await self._open_page(exits)
            if self.options.namespace_selector is not None:
                from pilotage.manager.namespaces import NamespaceSelection

                self._namespaces = NamespaceSelection(self.cluster, cache, self.options.namespace_selector)
                exits.callback(self._namespaces.close)
                self.add(self._namespaces)
            await self.beginning.open(self.cluster.client, self.options)
            self._exits = exits.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._exits is not None
        with nullcontext() if self._lifecycle.signalled else self._signals(deferred=True):
            try:
                await self._lifecycle.stop(raising=error is None)
            finally:
                try:
                    await self.beginning.save()
                finally:
                    await self._exits.aclose()  # also if it is cancelled: this writes events and closes the storage

    def _cached_client(self, cluster: Cluster, cache: Cache) -> Client:
        from pilotage.cluster.cachedclient import CachedClientOptions

        options = CachedClientOptions(read_your_writes=self.options.read_your_writes)
        return cluster.cached_client(cache, options, fences=self._lifecycle.fences)

    async def _open_page(self, exits: AsyncExitStack) -> None:
        """Serve the live page, where an address is set and the loop has sockets."""
        from pilotage.net.sockets import parse_bind_address

        if self._supervision is None or parse_bind_address(self.options.ui_bind_address) is None:
            return
        from pilotage.dashboard.server import page_server

        self._page = page = page_server(self, self.page_handler)
        await page.open()
        exits.push_async_callback(page.close)
        self.add(page)

    def _own_permissions(self) -> tuple[MissingPermission | None, ...]:
        found = (self._lifecycle.elector, self.shards, self._namespaces)
        return tuple(one.missing_permission for one in found if one is not None)
